"""What of a study does not hold what was written into it, whichever rule wrote it."""

import os
import shutil
from pathlib import Path

import pandas as pd
import pytest

from ict_core.jobs.damage import damaged, set_aside
from ict_core.store import records
from ict_core.store.layout import StudyFiles
from ict_core.store.manifests import file_hashes, write_json, write_manifest

RESULTS = Path("results/s")
FILES = StudyFiles(RESULTS)
CELL, BASE = FILES.cell("m/ict-10/seed-3"), FILES.cell("m/base/seed-0")
VALUES = {"str": "x", "int": 1, "float": 0.5, "bool": True}
FRAMES = {  # of rules that write no manifest
    FILES.solutions: records.SOLUTIONS,
    FILES.rollouts("m"): records.ROLLOUTS,
    FILES.token_study.frame("overlap"): records.STUDY_OVERLAP,
    FILES.rate_study.rewards: records.REWARDS,
    FILES.frame("scores"): records.SCORES,
}
CHECKPOINTS = (CELL.train, FILES.base_model("m"), FILES.fetched_model("n"))
RECORDED = ("learning_curve.parquet", "rollouts/step-000000.parquet")  # where a study's keys ask for it
MANIFESTS = (FILES.settings, FILES.chosen_rate("m", "ict-10"), FILES.token_study.manifest)


def write_frame(path: Path, columns: dict[str, str]) -> str:
    frame = pd.DataFrame({name: [VALUES[kind]] for name, kind in columns.items()})
    records.write_frame(frame, path, columns)
    return records.frame_hash(frame, columns)


@pytest.fixture(autouse=True)
def study(tmp_path, monkeypatch) -> None:
    """A finished study, all of whose files have one age."""
    monkeypatch.chdir(tmp_path)
    for path, columns in FRAMES.items():
        write_frame(path, columns)
    for folder in CHECKPOINTS:
        for name in ("log.parquet", *RECORDED, "model/model.safetensors", "model/config.json"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(name.encode())
        write_manifest(folder / "manifest.json", {"files": file_hashes(folder)})
    for files in (CELL, BASE, FILES.regraded.cell("m/ict-10/seed-3")):
        write_manifest(files.generation, {"completions_sha256": write_frame(files.completions, records.COMPLETIONS)})
        write_manifest(files.grading, {"grades_sha256": write_frame(files.grades, records.GRADES)})
    for path in MANIFESTS:
        write_manifest(path, {"a": 1})
    for path in (FILES.table("main", "csv"), FILES.log_of("train", "x.json"), FILES.trackers("x") / "run.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("not JSON, and nobody reads it")
    write_json(FILES.claims, [])  # which has no checksum
    FILES.cell("m.parquet/ict.json/seed-0").folder.mkdir(parents=True)  # of a model and a variant with such names
    for path in RESULTS.rglob("*"):
        os.utime(path, (1, 1))


def garble(path: Path) -> None:
    """Change one byte."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


def halve(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def folder_for_file(path: Path) -> None:
    path.unlink()
    Path(path, "within").mkdir(parents=True)


def file_for_folder(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("")


def other_frame(path: Path) -> None:
    """A whole frame that another job wrote."""
    frame = records.read_frame(path, records.COMPLETIONS)
    records.write_frame(frame.assign(tokens=99), path, records.COMPLETIONS)


DAMAGES = [
    *((path, halve, path) for path in (*FRAMES, CELL.completions, FILES.regraded.cell("m/ict-10/seed-3").grades)),
    *((path, garble, path) for path in (*MANIFESTS, CELL.generation, BASE.grading)),
    *((path, folder_for_file, path) for path in (FILES.solutions, FILES.settings, CELL.grades)),
    (FILES.claims, halve, FILES.claims),
    (CELL.completions, other_frame, CELL.completions),
    *((path / "model/model.safetensors", garble, path) for path in CHECKPOINTS),
    *((path / "manifest.json", spoil, path) for path in CHECKPOINTS for spoil in (garble, os.remove)),
    *((path, file_for_folder, path) for path in CHECKPOINTS),
    (CELL.train / "log.parquet", os.remove, CELL.train),
    *((CELL.train / name, spoil, CELL.train) for name in RECORDED for spoil in (garble, os.remove)),
    (CELL.train / "model/model.safetensors", folder_for_file, CELL.train),
]


@pytest.mark.parametrize(("file", "spoil", "output"), DAMAGES)
def test_whatever_does_not_hold_what_was_written_is_found_and_nothing_else(file, spoil, output):
    before = damaged(RESULTS)
    spoil(file)
    ((found, fault),) = damaged(RESULTS).items()
    assert before == {} and found == output
    assert str(output) in fault


def test_what_is_set_aside_is_no_longer_there_and_is_not_found_again():
    for content in (b"first", b"second"):
        FILES.solutions.write_bytes(content)
        (output,) = damaged(RESULTS)
        aside = set_aside(output)
        assert aside.read_bytes() == content and not output.exists()
        assert damaged(RESULTS) == {}


def test_another_time_alone_and_what_a_job_is_writing_are_no_damage():
    for path in RESULTS.rglob("*"):
        os.utime(path, (2, 2))
    os.utime(CELL.completions)
    os.utime(CELL.train / "model/model.safetensors")
    (CELL.train / "notes.txt").write_text("of somebody else")
    for name in ("scores.parquet.partial", "m/ict-10/seed-3/train.checkpoints/state.json"):
        (RESULTS / name).parent.mkdir(exist_ok=True)
        (RESULTS / name).write_text("half")
    CELL.grading.unlink()  # Snakemake makes both anew
    assert damaged(RESULTS) == {}
    shutil.rmtree(RESULTS)
    assert damaged(RESULTS) == {}


def test_bits_that_rot_under_a_manifest_are_left_to_the_job_that_reads_them():
    for path in (CELL.completions, CELL.train / "model/model.safetensors"):
        garble(path)
        os.utime(path, (1, 1))
    assert damaged(RESULTS) == {}
