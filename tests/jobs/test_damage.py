"""What of a finished study counts as damaged or missing, by its files and by what Snakemake has noted of them."""

import json
import os
import shutil
from base64 import urlsafe_b64encode
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from ict_core.config import Cell
from ict_core.jobs import damaged, mend, note, outputs
from ict_core.store import file_hashes, read_manifest, records, write_manifest

BASE, CELL = Cell("m", "base", 0), Cell("m", "ict-10", 3)
STUDY = SimpleNamespace(  # without a tuning
    base_cells=lambda _: [BASE],
    trained_cells=lambda: [CELL],
    base_of=lambda _: BASE,
    evaluated_cells=lambda: [BASE, CELL],
    later_cells=list,
    tuned_arms=list,
)
HERE = "results/s"
TRAIN = f"{HERE}/m/ict-10/seed-3/train"
ANSWERS = f"{HERE}/m/ict-10/seed-3/completions.parquet"
GENERATION = f"{HERE}/m/ict-10/seed-3/generation.json"


def snakemake_notes(output: Path) -> None:
    """Note an output that a job has just left, as Snakemake does it."""
    stamp = output / ".snakemake_timestamp" if output.is_dir() else output
    stamp.touch()
    code = urlsafe_b64encode(str(output).encode()).decode()
    parts = [code[i : i + 254] for i in range(0, len(code), 254)]
    record = Path(".snakemake/metadata", *(f"@{part}" for part in parts[:-1]), parts[-1])
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps({"params": ['"endtime": 7'], "endtime": stamp.stat().st_mtime}))


def write_checkpoint(folder: Path) -> None:
    (folder / "model").mkdir(parents=True)
    for name in ("log.parquet", "model/model.safetensors"):
        (folder / name).write_bytes(name.encode())
    write_manifest(folder / "manifest.json", {"files": file_hashes(folder)})


def write_frames(stage: outputs.Stage) -> None:
    prompts = pd.DataFrame([("b", "p", "?", "[]", "?", "4", "number")], columns=list(records.PROBLEMS))
    if stage.name == "data":
        for output in stage.outputs:
            records.write_frame(prompts, output, records.PROBLEMS)
        return
    key, columns = {"generate": ("completions", records.COMPLETIONS), "grade": ("grades", records.GRADES)}[stage.name]
    of = {"str": "x", "int": 1, "float": 0.5}
    frame = pd.DataFrame({name: [of[kind]] for name, kind in columns.items()})
    records.write_frame(frame, stage.outputs[0], columns)
    write_manifest(stage.outputs[1], {f"{key}_sha256": records.frame_hash(frame, columns)})


@pytest.fixture
def study(tmp_path, monkeypatch) -> list[outputs.Stage]:
    """The jobs of a finished study of a base model and one cell; the working folder is that of its repository."""
    monkeypatch.chdir(tmp_path)
    stages = outputs.all_jobs(Path(HERE), STUDY)
    for stage in stages:
        if stage.name in ("data", "generate", "grade"):
            write_frames(stage)
        for output in stage.outputs:
            if not output.suffix:
                write_checkpoint(output)
            output.parent.mkdir(parents=True, exist_ok=True)
            output.exists() or output.write_text("what its job wrote")
            for path in [output, *output.rglob("*")]:
                os.utime(path, (1, 1))
            snakemake_notes(output)
    return stages


def garble(file: str) -> None:
    """Change one byte."""
    content = bytearray(Path(file).read_bytes())
    content[len(content) // 2] ^= 255
    Path(file).write_bytes(content)


def folder_for_file(file: str) -> None:
    Path(file).unlink()
    Path(file, "within").mkdir(parents=True)


def file_for_folder(folder: str) -> None:
    shutil.rmtree(folder)
    Path(folder).write_text("")


def other_frame(file: str) -> None:
    """A whole frame that another job wrote."""
    frame = records.read_frame(Path(file), records.COMPLETIONS)
    records.write_frame(frame.assign(tokens=99), Path(file), records.COMPLETIONS)


DAMAGES = [
    (f"{HERE}/scores.parquet", garble, "changed after its job had written it"),
    (f"{HERE}/tables/main.tex", lambda file: Path(file).write_text(""), "changed after its job had written it"),
    (f"{HERE}/statistics/runs.parquet", folder_for_file, "a folder stands where a file is wanted"),
    (f"{HERE}/data/eval.parquet", garble, "eval.parquet: "),
    (ANSWERS, lambda file: os.truncate(file, 20), "not a readable Parquet file"),
    (ANSWERS, other_frame, "its content is not what generation.json says"),
    (ANSWERS, folder_for_file, "a folder stands where a file is wanted"),
    (GENERATION, garble, "generation.json: "),
    (f"{HERE}/m/ict-10/seed-3/grades.parquet", lambda file: os.truncate(file, 0), "grades.parquet: "),
    (f"{TRAIN}/model/model.safetensors", garble, "its bytes are not those that were written"),
    (f"{TRAIN}/model/model.safetensors", folder_for_file, "no such file, and its manifest names it"),
    (f"{TRAIN}/log.parquet", os.remove, "no such file, and its manifest names it"),
    (f"{TRAIN}/manifest.json", lambda file: Path(file).write_text("{}"), "holds no checksum"),
    (TRAIN, file_for_folder, "a file stands where a folder is wanted"),
    (f"{HERE}/m/base/seed-0/model/manifest.json", garble, "manifest.json: "),
]


@pytest.mark.parametrize(("file", "spoil", "told"), DAMAGES)
def test_whatever_is_not_what_its_job_left_is_found(study, file, spoil, told):
    before = damaged(Path(), study)
    spoil(file)
    ((output, fault),) = damaged(Path(), study).items()
    assert before == {} and told in fault
    assert output in Path(file).parents or output == Path(file)
    assert any(output in stage.outputs for stage in study)
    assert damaged(Path.cwd(), study).keys() == {output}
    assert mend(output) == "run snakemake again, which makes it anew"


def test_a_new_time_of_change_alone_is_no_damage_to_what_costs_much(study):
    for file in (f"{HERE}/data/train.parquet", ANSWERS, GENERATION, f"{TRAIN}/log.parquet", f"{TRAIN}/manifest.json"):
        os.utime(file)
    Path(TRAIN, "notes.txt").write_text("of somebody else")
    Path(TRAIN, ".snakemake_timestamp").unlink()
    assert damaged(Path(), study) == {}


def test_evidence_that_has_another_time_alone_is_known_by_its_content(study):
    made = [output for stage in study for output in stage.outputs if stage.name in ("collect", "make_tables", "report")]
    note(Path(), "collect", made[:-1])
    for output in made:
        times = output.stat()
        os.utime(output, (times.st_atime, times.st_mtime + 24 * 3600))
    assert damaged(Path(), study).keys() == {made[-1]}
    made[0].write_text("another text")
    assert damaged(Path(), study).keys() == {made[0], made[-1]}


def test_a_file_in_the_place_of_a_cell_is_found_once(study):
    file_for_folder(f"{HERE}/m/ict-10/seed-3")
    cell = Path(HERE, "m/ict-10/seed-3")
    assert damaged(Path(), study) == {cell: f"{cell}: a file stands where a folder is wanted"}


def test_what_is_missing_is_no_damage_and_neither_is_what_a_job_is_at(study):
    for file in (f"{HERE}/scores.parquet", ANSWERS):
        Path(file).unlink()
    shutil.rmtree(TRAIN)
    assert damaged(Path(), study) == {}
    assert mend(Path(TRAIN)) == "run snakemake again, which makes it anew"
    claims = Path(HERE, "claims.json")
    garble(claims)
    assert list(damaged(Path(), study)) == [claims]
    mark = Path(".snakemake/incomplete", urlsafe_b64encode(str(claims).encode()).decode())
    mark.parent.mkdir()
    mark.touch()
    assert damaged(Path(), study) == {}


def test_bits_that_rot_are_not_seen_here_and_the_mend_says_so(study):
    for file in (ANSWERS, f"{TRAIN}/model/model.safetensors", f"{HERE}/scores.parquet"):
        times = Path(file).stat()
        garble(file)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert damaged(Path(), study) == {}
    assert mend(Path(ANSWERS)) == f"delete {ANSWERS} and run snakemake again, which makes it anew"


def test_without_notes_only_the_kind_of_an_output_is_known(study):
    shutil.rmtree(".snakemake/metadata")
    garble(ANSWERS)
    folder_for_file(GENERATION)
    assert list(damaged(Path(), study)) == [Path(GENERATION)]
    shutil.rmtree(".snakemake")
    assert mend(Path(ANSWERS)) == "delete it, and make it anew by its stage"


def test_a_manifest_with_a_checksum_of_its_own_must_fit_its_frame(study):
    write_manifest(Path(GENERATION), {**read_manifest(Path(GENERATION)), "completions_sha256": "0"})
    assert list(damaged(Path(), study)) == [Path(GENERATION)]
