"""A study with damaged and deleted files: all commands tell the same of it, and the plain one makes it whole again."""

import os
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from repository_copy import Copy

from ict_core.config import load_study
from ict_core.jobs import outputs
from ict_core.process.failures import FULL

SMOKE = ("--configfile", "configs/studies/smoke.yaml")
RESULTS, CELLS = "results/smoke", "results/smoke/mini-xs"
ROW = ("results/smoke/tables/contrasts.csv", "--cell", "mini-xs/ict-10/grpo/average/pass@4")
FOLLOWS = {"collect": 1, "shadow": 1, "statistics": 1, "make_tables": 1, "claims": 1, "notebook": 1, "report": 1}
FOLLOWS["paper_figures"] = 1
SPOILT = {  # damaged
    "grpo/seed-0/train": "its bytes are not those that were written",
    "ict-10/seed-0/grades.parquet": "not a readable Parquet file",
    "ict-10/seed-1/generation.json": "not JSON",
    "base/seed-0/completions.parquet": "(not a readable Parquet file|its content is not what was written)",
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


def planned_jobs(copy: Copy) -> Counter:
    """How many jobs of each rule would run, as `ict plan` says, which asks Snakemake."""
    plan = ict(copy, "plan", SMOKE[1])
    jobs = Counter()
    for rule, number in re.findall(r"^\| (\w+) \|(?: [\w-]+)? \| (\d+) \|", plan, re.MULTILINE):
        jobs[rule] += int(number)
    assert jobs.pop("total") == jobs.total()
    return jobs


def test_a_complete_study_is_what_the_rules_write(tmp_path):
    copy = Copy(tmp_path)
    printed = copy.snakemake("--dry-run", *SMOKE).stdout
    jobs = re.findall(r"rule (\w+):\n(?:    input: .*\n)?    output: (.*)\n    log: (.*)\n", printed)
    study = load_study(copy.folder / SMOKE[1])
    stages = outputs.all_jobs(Path(RESULTS), study)
    assert {(s.name, frozenset(map(str, s.outputs)), str(s.log)) for s in stages} == {
        (rule, frozenset(files.split(", ")), log) for rule, files, log in jobs
    }


@pytest.mark.slow
def test_a_deleted_base_model_and_training_are_told_alike(uninterrupted, tmp_path):
    copy = Copy(tmp_path, uninterrupted)
    for folder in ("base/seed-0/model", "grpo/seed-1/train"):
        shutil.rmtree(copy.folder / CELLS / folder)
    dry_run = Counter(re.sub("^figure_.*", "figures", rule) for rule, _, _ in copy.planned(*SMOKE))
    jobs = planned_jobs(copy)
    assert jobs == dry_run
    figures = jobs.pop("figures")
    assert jobs == {"pretrain": 1, "train": 4, "generate": 5, "grade": 5, "all": 1, **FOLLOWS} and figures > 10
    said = ict(copy, "status", "--study", SMOKE[1])
    assert said.count(" missing pretrain mini-xs/base/seed-0/model\n") == 5
    explained = ict(copy, "explain", *ROW, status=1)
    for folder in ("base/seed-0/model", "grpo/seed-1/train"):
        assert re.search(rf"\[BROKEN\] {CELLS}/{folder}.*: no such file", explained), explained
    assert re.search(r"NOT SOUND: \d+ broken links: delete what is BROKEN and run snakemake again\n$", explained)


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
    for file, fault in SPOILT.items():
        assert file.startswith("base") or re.search(rf"\[BROKEN\] {CELLS}/{file}.*: {fault}", explained), explained
    assert re.search(r"NOT SOUND: \d+ broken links: delete what is BROKEN and run snakemake again\n$", explained)
    (results / "scores.parquet").write_bytes(b"PAR1")
    (results / "tables/main.csv").write_text("")
    (results / "statistics/runs.parquet").unlink()
    (results / "statistics/runs.parquet").mkdir()
    spoilt = state(copy)

    jobs = planned_jobs(copy)
    figures = jobs.pop("figures")
    assert jobs == {"train": 1, "generate": 4, "grade": 5, "all": 1, **FOLLOWS} and figures > 10
    said = ict(copy, "status", "--study", SMOKE[1])
    for file, fault in SPOILT.items():
        assert re.search(rf" damaged \w+ mini-xs/{file}.*: {fault}", said), said
    assert "mini-xs/grpo/seed-1 missing generate mini-xs/grpo/seed-1/completions.parquet\n" in said
    for line in (
        "collect scores.parquet:",
        "make_tables tables/main.csv:",
        "statistics statistics/runs.parquet: a folder",
    ):
        assert f"the study damaged {line}" in said
    explained = ict(copy, "explain", *ROW, status=1)
    assert explained.startswith(f"[BROKEN] {RESULTS}/scores.parquet: not a readable Parquet file")
    assert explained.endswith("; run snakemake again, which makes it anew\n")
    verified = ict(copy, "verify", f"{CELLS}/base", "--study", SMOKE[1], "--stages", "grade", status=2)
    assert f"{CELLS}/base/seed-0/completions.parquet: " in verified and "; run snakemake again, which" in verified
    assert state(copy) == spoilt

    result = copy.snakemake(*SMOKE)
    assert result.returncode == 0, result.stdout[-5000:]
    healed = state(copy)
    asides = {name.replace(".damaged", "", 1): name for name in healed if ".damaged" in name}
    assert {name: spoilt[name] for name in asides} == {name: healed[aside] for name, aside in asides.items()}
    assert {f"{CELLS}/{file}" for file in SPOILT} <= asides.keys()
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
    assert f"{RESULTS}/logs/. What is finished is kept" in result.stdout and not rotten.exists()
    assert [rule for rule, variant, _ in copy.planned(*SMOKE) if variant] == ["grade"]


FILLING = """
import contextlib

load_whole = load_study


def load_study(path):
    with contextlib.suppress(OSError):
        Path(".snakemake/filler").write_bytes(bytes(2**20))
    return load_whole(path)
"""


@pytest.mark.slow
def test_a_disk_that_fills_up_in_a_run_is_named(tmp_path, in_namespace):
    copy = Copy(tmp_path)
    copy.append("ict_core/process/failures.py", "\nLEAST_MIB = 0\n")
    copy.append("ict_core/commands/stages.py", FILLING)
    python = f"{copy.environment['PATH'].split(':')[0]}/python"
    run = f"cd {copy.folder}; PYTHONPATH={copy.folder} {python} -m snakemake --cores 1"
    said = {}
    for folder, size, target in (("results", "4k", "data"), (".snakemake", "64k", "study_settings")):
        (copy.folder / folder).mkdir(exist_ok=True)
        mount = f"mount -t tmpfs -o size={size} none {copy.folder / folder}"
        said[folder] = in_namespace(mount, f"({run} {target} {' '.join(SMOKE)} 2>&1 || true)")
    (failed,) = re.findall("^failed: .*", said["results"], re.MULTILINE)
    assert failed.startswith("failed: data: ") and FULL in failed
    assert re.search(rf"^error: \.snakemake.*: {re.escape(FULL)}", said[".snakemake"], re.MULTILINE)
