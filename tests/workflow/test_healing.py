"""A study with damaged and deleted files: they are named, and the plain command makes it whole again."""

import os
import re
import shutil
from pathlib import Path

import pytest
from repository_copy import Copy

from ict_core.process.failures import FULL

SMOKE = ("--config=study=smoke",)
RESULTS, CELLS = "results/smoke", "results/smoke/mini-xs"
ROW = ("results/smoke/tables/contrasts.csv", "--cell", "mini-xs/ict-10/grpo/average/pass@4")
SPOILT = {  # damaged
    "mini-xs/grpo/seed-0/train": "its bytes are not those that were written",
    "mini-xs/ict-10/seed-0/grades.parquet": "not a readable Parquet file",
    "mini-xs/ict-10/seed-1/generation.json": "not JSON",
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
    said = ict(copy, "status", "--study", "smoke")
    assert "mini-xs/base/seed-0 missing pretrain mini-xs/base/seed-0/model\n" in said
    assert "mini-xs/grpo/seed-1 missing train mini-xs/grpo/seed-1/train\n" in said
    rules = [rule for rule, _, _ in copy.planned(*SMOKE)]
    assert {rule: rules.count(rule) for rule in ("pretrain", "train", "generate", "grade")} == {
        **{"pretrain": 1, "train": 3, "generate": 4, "grade": 4},
    }


@pytest.mark.slow
def test_a_run_sets_damage_aside_and_a_command_that_only_looks_does_not(fresh):
    spoilt = fresh.folder / RESULTS / "scores.parquet"
    spoilt.parent.mkdir(parents=True)
    spoilt.write_bytes(b"PAR1")
    looks = ("--summary", "--list-changes=code", "--dag", "--dry-run")
    for said in fresh.snakemakes([["--cores", "2", look, *SMOKE] for look in looks]):
        assert f"damaged: {RESULTS}/scores.parquet: not a readable Parquet file" in said
    assert [p.name for p in spoilt.parent.iterdir()] == ["scores.parquet"]
    assert f"kept as {RESULTS}/scores.parquet.damaged" in fresh.made(f"{RESULTS}/study.json", *SMOKE)
    assert not spoilt.exists() and list((fresh.folder / RESULTS / "logs").rglob("*.lock"))  # a job locks its log


@pytest.mark.long
def test_one_plain_run_makes_a_spoilt_study_whole(uninterrupted, tmp_path):
    copy = Copy(tmp_path, uninterrupted)
    whole, results, cells = state(copy), copy.folder / RESULTS, copy.folder / CELLS
    garble(cells / "grpo/seed-0/train/model/model.safetensors")
    os.truncate(cells / "ict-10/seed-0/grades.parquet", 100)
    garble(cells / "ict-10/seed-1/generation.json")
    (cells / "grpo/seed-1/completions.parquet").unlink()
    assert ict(copy, "explain", *ROW, status=1).count("[BROKEN]") >= 3
    (results / "scores.parquet").write_bytes(b"PAR1")
    (results / "statistics/runs.parquet").unlink()
    (results / "statistics/runs.parquet").mkdir()
    spoilt = state(copy)

    said = ict(copy, "status", "--study", "smoke")
    for file, fault in SPOILT.items():
        assert re.search(rf"the study damaged {file}.*: {fault}", said), said
    assert "mini-xs/grpo/seed-1 missing generate mini-xs/grpo/seed-1/completions.parquet\n" in said
    explained = ict(copy, "explain", *ROW, status=1)
    assert explained.startswith(f"[BROKEN] {RESULTS}/scores.parquet: not a readable Parquet file")
    dry = copy.snakemake("--dry-run", *SMOKE)
    assert all(f"damaged: {RESULTS}/{file}" in dry.stdout for file in SPOILT), dry.stdout[:3000]
    assert state(copy) == spoilt  # no command that only reads changes a file

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
