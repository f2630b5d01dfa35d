"""Finished cells travel: a study is finished on two machines, and what does not belong to it is refused by name."""

import shutil
from pathlib import Path

import pytest
from repository_copy import Copy

from ict_core.config.load import load_study
from ict_core.config.study_file import Cell
from ict_core.errors import UserError
from ict_core.evidence.cells import counted, store_cell
from ict_core.evidence.collect import collect
from ict_core.evidence.outcomes import LocalOutcome
from ict_core.store.layout import StoredCellFiles, StudyFiles
from ict_core.store.manifests import read_manifest, write_manifest

pytestmark = pytest.mark.slow

STUDY = "configs/studies/smoke.yaml"
SCORES = "results/smoke/scores.parquet"
CELLS = Path("results/cells/smoke")
BASE, GRPO, ICT = (f"mini-xs/{variant}/seed-{{}}" for variant in ("base", "grpo", "ict-10"))
WHOLE = tuple(cell.format(seed) for cell in (BASE, GRPO, ICT) for seed in (0, 1))
# of what one machine writes, all that does not hold wall times or commits
FRAMES = ("scores", "log", "tokens", "learning_curve", "shadow", "overlap", "tuning")
TABLES = ("main", "contrasts", "ablations", "rates")


@pytest.fixture(scope="module")
def first(uninterrupted, tmp_path_factory) -> Copy:
    """A machine on which the study has run, with its cells stored."""
    copy = Copy(tmp_path_factory.mktemp("first"), uninterrupted)
    assert "6 stored" in copy.done("ict", "cells", "smoke")
    return copy


@pytest.fixture
def stored(first, tmp_path) -> Path:
    """Its cells, to be spoiled."""
    return shutil.copytree(first.folder / CELLS, tmp_path / "cells")


def second(first: Copy, folder: Path, *cells: str) -> Copy:
    """Another machine, on which nothing has run, with some of the first one's cells."""
    copy = Copy(folder)
    for cell in cells:
        shutil.copytree(first.folder / CELLS / cell, copy.folder / CELLS / cell)
    return copy


def change(folder: Path, key: str, value: object, *path: str) -> None:
    """Another value in a cell's record, which is whole all the same."""
    file = StoredCellFiles(folder).manifest
    record = read_manifest(file)
    part = record
    for name in path:
        part = part[int(name)] if isinstance(part, list) else part[name]
    part[key] = value
    write_manifest(file, record)


def jobs(copy: Copy) -> list[tuple[str, str]]:
    """The costly jobs that a dry run plans."""
    costly = ("pretrain", "train", "generate", "grade")
    return sorted((rule, variant) for rule, variant, _ in copy.planned("--configfile", STUDY) if rule in costly)


def smoke(folder: Path):
    return load_study(folder / STUDY)


@pytest.mark.long
def test_a_study_is_finished_on_two_machines(first, tmp_path):
    taken = [cell for cell in WHOLE if cell != ICT.format(1)]
    copy = second(first, tmp_path)
    shutil.copytree(first.folder / CELLS, tmp_path / "brought", ignore=shutil.ignore_patterns("seed-1"))
    for cell in (BASE, GRPO):
        shutil.copytree(first.folder / CELLS / cell.format(1), tmp_path / "brought" / cell.format(1))
    result = copy.run("ict", "cells", "smoke", "--from", str(tmp_path / "brought"))
    assert result.returncode == 0 and "5 stored" in result.stdout, result.stdout

    page = copy.run("ict", "status", "smoke").stdout
    assert f"{len(taken)} stored" in page
    assert jobs(copy) == [("generate", "ict-10"), ("grade", "ict-10"), ("pretrain", ""), ("train", "ict-10")]
    result = copy.snakemake("--configfile", STUDY)
    assert result.returncode == 0, result.stdout[-5000:]

    ours, theirs = (StudyFiles(c.folder / "results/smoke") for c in (copy, first))
    for name in FRAMES:
        assert ours.frame(name).read_bytes() == theirs.frame(name).read_bytes(), name
    for name in TABLES:
        assert ours.table(name, "csv").read_bytes() == theirs.table(name, "csv").read_bytes(), name
    assert ours.claims.read_bytes() == theirs.claims.read_bytes()
    assert not ours.cell(GRPO.format(0)).train.exists()  # it was not run here
    assert copy.planned("--configfile", STUDY) == []


def test_a_stored_cell_names_its_commit_and_machine_and_holds_no_weights(first):
    for cell in WHOLE:
        files = StoredCellFiles(first.folder / CELLS / cell)
        record = read_manifest(files.manifest)
        run = record["runs"][0]
        assert run.keys() >= {"commit", "cpu", "hardware", "code"} and run["cpu"]
        frames = {"scores"} if "/base/" in cell else {"scores", "log", "tokens", "learning_curve"}
        assert {p.name for p in files.folder.iterdir()} == {"cell.json", *(f"{name}.parquet" for name in frames)}
        assert record["jobs"].keys() == {"made", "generate", "grade"}


def test_a_cell_whose_training_went_on_on_another_machine_names_both(first, tmp_path):
    class Moved(LocalOutcome):
        def job(self, stage):
            there = {"cpu": "Another CPU", "hardware": ["Another CPU (instructions 0)"]}
            return super().job(stage) | ({"earlier_machines": [there]} if stage == "made" else {})

    cell = Cell("mini-xs", "grpo", 1)
    files = StudyFiles(first.folder / "results/smoke")
    outcome, again = Moved(files, cell), LocalOutcome(files, cell)
    done = [store_cell(smoke(first.folder), cell, each, tmp_path / "stored") for each in (outcome, outcome, again)]
    assert done == ["stored", "known", "confirmed"]
    run = read_manifest(StoredCellFiles(tmp_path / "stored").manifest)["runs"][0]
    assert run["cpu"] == f"Another CPU and {outcome.job('grade')['platform']['cpu']}"
    assert run["hardware"] == ["Another CPU (instructions 0) and a CPU with portable numerics"]


@pytest.mark.long
def test_code_that_gives_other_bytes_is_refused_with_the_commit_to_go_on_at(first, tmp_path):
    copy = second(first, tmp_path, *WHOLE)
    trainer = copy.folder / "ict_core/training/trainer.py"
    text = trainer.read_text()
    assert '"rollout", step' in text
    trainer.write_text(text.replace('"rollout", step', '"other rollout", step'))
    result = copy.snakemake(SCORES, "--configfile", STUDY)
    assert result.returncode != 0
    log = StudyFiles(copy.folder / "results/smoke").log_of("collect").read_text()
    assert "code has changed" in log and "log.parquet" in log and str(CELLS) in log


def test_a_damaged_cell_is_refused_by_name(first, stored, tmp_path):
    file = StoredCellFiles(stored / GRPO.format(1)).frame("log")
    file.write_bytes(file.read_bytes()[:-100])
    manifest = StoredCellFiles(stored / ICT.format(0)).manifest
    manifest.write_text(manifest.read_text().replace('"sampled"', '"simpled"').replace('"seed": 0', '"seed": 1'))
    result = second(first, tmp_path / "copy").run("ict", "cells", "smoke", "--from", str(stored))
    assert result.returncode == 1 and "2 refused, 4 stored" in result.stdout
    refused = [line for line in result.stdout.splitlines() if line.startswith("refused")]
    assert any(GRPO.format(1) in line for line in refused) and any(ICT.format(0) in line for line in refused)


@pytest.mark.parametrize(
    ("cell", "path", "key", "value", "said"),
    [
        (GRPO.format(0), ("jobs", "made", "config", "training"), "steps", 99, "training.steps: 99"),
        (BASE.format(0), ("jobs", "made", "config"), "numerics", "native", "numerics: native"),
        (ICT.format(1), ("cell",), "seed", 0, "it holds mini-xs/ict-10/seed-0"),
    ],
)
def test_a_foreign_cell_is_refused_by_name(first, stored, cell, path, key, value, said):
    change(stored / cell, key, value, *path)
    with pytest.raises(UserError, match=f"{cell}: .*{said}"):
        counted(smoke(first.folder), stored)


@pytest.mark.long
def test_a_stored_cell_that_a_target_asks_for_is_named_and_run_again(first, tmp_path):
    copy = second(first, tmp_path, GRPO.format(0), GRPO.format(1))
    target = f"results/smoke/{GRPO.format(0)}/grades.parquet"
    (named,) = [line for line in copy.made("--configfile", STUDY, "--", target).splitlines() if "Stored" in line]
    assert GRPO.format(0) in named and GRPO.format(1) not in named


def test_a_cell_that_the_study_does_not_have_is_refused_by_name(first, stored):
    shutil.copytree(stored / GRPO.format(1), stored / GRPO.format(7))
    with pytest.raises(UserError, match=f"{GRPO.format(7)}: smoke has no such cell"):
        counted(smoke(first.folder), stored)


def test_a_cell_that_contradicts_a_stored_one_is_refused_by_name(first, stored):
    change(stored / GRPO.format(0), "model_sha256", "0" * 64, "jobs", "made")
    result = first.run("ict", "cells", "smoke", "--from", str(stored))
    assert result.returncode == 1 and "5 known, 1 refused" in result.stdout
    assert f"{GRPO.format(0)}: contradicted by another run, in made: model_sha256" in result.stdout


@pytest.mark.parametrize(
    ("cell", "stage", "key"), [(GRPO.format(0), "made", "base_sha256"), (BASE.format(0), "generate", "problems_sha256")]
)
def test_a_cell_of_other_inputs_is_refused_by_name(first, stored, cell, stage, key):
    change(stored / cell, key, "0" * 64, "jobs", stage)
    study = smoke(first.folder)
    with pytest.raises(UserError, match=f"{cell}: .*{key}"):
        collect(first.folder / "results/smoke", study, counted(study, stored))


@pytest.mark.parametrize(
    ("stage", "key", "value"),
    [
        ("made", "model_sha256", "0" * 64),  # a training that was made again after its answers
        ("generate", "completions_sha256", "0" * 64),
        ("grade", "packages", {"math-verify": "0.8.0"}),
    ],
)
def test_a_cell_whose_jobs_do_not_belong_together_is_not_stored(first, tmp_path, stage, key, value):
    class Mixed(LocalOutcome):
        def job(self, of_stage):
            job = super().job(of_stage)
            return job | {key: job[key] | value if isinstance(value, dict) else value} if of_stage == stage else job

    cell = Cell("mini-xs", "grpo", 1)
    outcome = Mixed(StudyFiles(first.folder / "results/smoke"), cell)
    with pytest.raises(UserError, match=f"{cell.folder}: .*{'math-verify 0.8.0' if stage == 'grade' else key}"):
        store_cell(smoke(first.folder), cell, outcome, tmp_path / "stored")
    assert not (tmp_path / "stored").exists()


def test_code_is_proven_change_by_change(first, stored):
    study = smoke(first.folder)
    cells = {Cell(model, variant, int(seed[5:])) for model, variant, seed in (cell.split("/") for cell in WHOLE)}
    for cell in WHOLE:
        change(stored / cell, "grading", "old", "runs", "0", "code")
    for seed in (0, 1):
        change(stored / ICT.format(seed), "training", "old", "runs", "0", "code")
    found = counted(study, stored)
    assert len(found.again) == 1 and {c.variant for c in found.again} == {"ict-10"}  # it has both changes
    assert found.cells.keys() | found.again.keys() == cells

    (sampled,) = found.again
    today = read_manifest(StoredCellFiles(first.folder / CELLS / sampled.folder).manifest)["runs"][0]
    record = read_manifest(StoredCellFiles(stored / sampled.folder).manifest)
    change(stored / sampled.folder, "runs", [*record["runs"], today])
    assert counted(study, stored).cells.keys() == cells and not counted(study, stored).again


def test_bytes_of_native_numerics_are_compared_on_such_a_machine_alone(first, stored, tmp_path):
    text = (first.folder / STUDY).read_text()
    file = first.folder / "configs/studies/smoke-native.yaml"
    file.write_text(text.replace("study: smoke", "study: smoke-native\nnumerics: native"))
    study = load_study(file)
    for cell in WHOLE:
        record = read_manifest(StoredCellFiles(stored / cell).manifest)
        for stage in record["jobs"]:
            if "numerics" in record["jobs"][stage]["config"]:
                change(stored / cell, "numerics", "native", "jobs", stage, "config")
        change(stored / cell, "hardware", ["Another CPU (instructions 0)"], "runs", "0")
    assert len(counted(study, stored).cells) == 6  # of today's code they count wherever they were run
    for cell in WHOLE:
        change(stored / cell, "training", "old", "runs", "0", "code")
    with pytest.raises(UserError, match=r"native numerics .*Another CPU"):
        counted(study, stored)
    assert counted(study, stored, here=False).again  # as for `ict status`, which runs nothing
