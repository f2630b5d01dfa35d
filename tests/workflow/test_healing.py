"""A study with damaged and deleted files: they are named, and the plain command makes it whole again."""

import os
import re
import shutil
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from repository_copy import Copy

from ict_core.config import load_study
from ict_core.process.failures import FULL
from ict_core.store import StudyFiles, records

SMOKE = ("--configfile", "configs/studies/smoke.yaml")
RESULTS, CELLS = "results/smoke", "results/smoke/mini-xs"
ROW = ("results/smoke/tables/contrasts.csv", "--cell", "mini-xs/ict-10/grpo/average/pass@4")
FOLLOWS = {"collect": 1, "shadow": 1, "statistics": 1, "make_tables": 1, "claims": 1, "notebook": 1, "report": 1}
FOLLOWS |= {"paper_figures": 1, "all": 1}
SPOILT = {  # damaged
    "mini-xs/grpo/seed-0/train": "its bytes are not those that were written",
    "mini-xs/ict-10/seed-0/grades.parquet": "not a readable Parquet file",
    "mini-xs/ict-10/seed-1/generation.json": "not JSON",
    "mini-xs/base/seed-0/completions.parquet": "(not a readable Parquet file|its content is not what was written)",
    "scores.parquet": "not a readable Parquet file",
    "statistics/runs.parquet": "a folder stands where a file is wanted",
}


def garble(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 255
    path.write_bytes(content)


def state(copy: Copy) -> dict[str, bytes | None]:
    """All that lies in the study's folder but what jobs printed."""
    found = (copy.folder / RESULTS).rglob("*")
    return {
        str(p.relative_to(copy.folder)): p.read_bytes() if p.is_file() else None for p in found if "logs" not in p.parts
    }


def ict(copy: Copy, *command: str, status: int = 0) -> str:
    result = copy.run("ict", *command)
    assert result.returncode == status, result.stdout
    return re.sub(" +", " ", result.stdout)


@pytest.mark.slow
def test_a_deleted_base_model_and_training_are_told_and_made_anew(uninterrupted, tmp_path):
    copy = Copy(tmp_path, uninterrupted)
    for folder in ("base/seed-0/model", "grpo/seed-1/train"):
        shutil.rmtree(copy.folder / CELLS / folder)
    said = ict(copy, "status", "--study", SMOKE[1])
    assert "mini-xs/base/seed-0 missing pretrain mini-xs/base/seed-0/model\n" in said
    assert "mini-xs/grpo/seed-1 missing train mini-xs/grpo/seed-1/train\n" in said
    assert planned_jobs(copy) == {"pretrain": 1, "train": 4, "generate": 5, "grade": 5, **FOLLOWS}


def planned_jobs(copy: Copy) -> Counter[str]:
    """How many jobs of each rule a dry run would start, without those of figures, of which there are more than ten."""
    jobs = Counter(rule for rule, _, _ in copy.planned(*SMOKE))
    figures = [rule for rule in jobs if rule.startswith("figure_")]
    assert len(figures) > 10
    return Counter({rule: number for rule, number in jobs.items() if rule not in figures})


@pytest.mark.long
@pytest.mark.slow
def test_one_plain_run_makes_a_spoilt_study_whole(uninterrupted, tmp_path):
    copy = Copy(tmp_path, uninterrupted)
    whole, results, cells = state(copy), copy.folder / RESULTS, copy.folder / CELLS
    garble(cells / "grpo/seed-0/train/model/model.safetensors")
    os.truncate(cells / "ict-10/seed-0/grades.parquet", 100)
    for file in ("ict-10/seed-1/generation.json", "base/seed-0/completions.parquet"):
        garble(cells / file)
    (cells / "grpo/seed-1/completions.parquet").unlink()
    explained = ict(copy, "explain", *ROW, status=1)
    assert explained.count("[BROKEN]") >= 3
    (results / "scores.parquet").write_bytes(b"PAR1")
    (results / "statistics/runs.parquet").unlink()
    (results / "statistics/runs.parquet").mkdir()
    spoilt = state(copy)

    said = ict(copy, "status", "--study", SMOKE[1])
    for file, fault in SPOILT.items():
        assert re.search(rf"the study damaged {file}.*: {fault}", said), said
    assert "mini-xs/grpo/seed-1 missing generate mini-xs/grpo/seed-1/completions.parquet\n" in said
    explained = ict(copy, "explain", *ROW, status=1)
    assert explained.startswith(f"[BROKEN] {RESULTS}/scores.parquet: not a readable Parquet file")
    verified = ict(copy, "verify", f"{CELLS}/base", "--study", SMOKE[1], "--stages", "grade", status=2)
    assert f"{CELLS}/base/seed-0/completions.parquet" in verified
    assert state(copy) == spoilt  # no command that only reads changes a file

    jobs = planned_jobs(copy)
    assert jobs == {"train": 1, "generate": 4, "grade": 5, **FOLLOWS}
    result = copy.snakemake(*SMOKE)
    assert result.returncode == 0, result.stdout[-5000:]
    healed = state(copy)
    asides = {name.replace(".damaged", "", 1): name for name in healed if ".damaged" in name}
    assert {name: spoilt[name] for name in asides} == {name: healed[aside] for name, aside in asides.items()}
    assert {f"{RESULTS}/{file}" for file in SPOILT} <= asides.keys()
    took = re.compile(r"\.json|\.html|timing|compute|claims\.md|report\.md|ipynb|snakemake_timestamp")
    same = [name for name in whole if not took.search(name)]
    assert len(same) > 80 and [name for name in same if healed.get(name) != whole[name]] == []
    assert healed.keys() - asides.values() == whole.keys()
    assert copy.planned(*SMOKE) == []
    assert "5 cells: 5 done\n" in ict(copy, "status", "--study", SMOKE[1])

    rotten = cells / "grpo/seed-0/grades.parquet"
    times = rotten.stat()
    os.truncate(rotten, 100)
    os.utime(rotten, ns=(times.st_atime_ns, times.st_mtime_ns))
    (results / "scores.parquet").unlink()
    result = copy.snakemake(*SMOKE)
    assert result.returncode == 1
    (failed,) = re.findall("^failed: .*", result.stdout, re.MULTILINE)
    assert failed.startswith(f"failed: collect: error: {CELLS}/grpo/seed-0/grades.parquet: not a readable Parquet file")
    assert failed.endswith(f"delete {CELLS}/grpo/seed-0/grades.parquet and run snakemake again")
    rotten.unlink()
    assert [rule for rule, variant, _ in copy.planned(*SMOKE) if variant] == ["grade"]


def test_damage_to_what_all_does_not_ask_for_is_made_anew_as_well(tmp_path):
    """The worked solutions, the problems within reach, and the rollouts of a token study."""
    copy = Copy(tmp_path)
    study, file = copy.folder / "results/smollm2", "configs/studies/smollm2.yaml"
    (model,) = load_study(copy.folder / file).models
    files = StudyFiles(study)
    frames = {
        files.solutions: records.SOLUTIONS,
        files.within_reach(model): records.PROBLEMS,
        files.rollouts(model): records.ROLLOUTS,
    }
    for path, columns in frames.items():
        kinds = {"str": "x", "int": 1, "float": 0.5}
        records.write_frame(pd.DataFrame({name: [kinds[kind]] for name, kind in columns.items()}), path, columns)
    asked = [str(path.relative_to(copy.folder)) for path in frames]
    assert copy.planned(*asked, "--configfile", file) == []
    for path in frames:
        os.truncate(path, 100)
    jobs = {rule for rule, _, _ in copy.planned(*asked, "--configfile", file)}
    assert jobs >= {"solutions", "within_reach", "rollouts"}
    for path in frames:
        assert path.with_name(f"{path.name}.damaged").stat().st_size == 100


@pytest.mark.slow
def test_a_disk_that_fills_up_in_a_run_is_named(tmp_path, in_namespace):
    copy = Copy(tmp_path)
    copy.append("ict_core/process/failures.py", "\nLEAST_MIB = 0\n")
    python = f"{copy.environment['PATH'].split(':')[0]}/python"
    run = f"cd {copy.folder}; PYTHONPATH={copy.folder} {python} -m snakemake --cores 1"
    (copy.folder / "results").mkdir(exist_ok=True)
    mount = f"mount -t tmpfs -o size=4k none {copy.folder / 'results'}"
    said = in_namespace(mount, f"({run} data {' '.join(SMOKE)} 2>&1 || true)")
    assert re.search(rf"^(failed: data|error): .*{re.escape(FULL)}", said, re.MULTILINE)
