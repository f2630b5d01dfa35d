"""What `ict verify` accepts, and what it runs."""

import shlex
from pathlib import Path

import pytest

from ict_core.commands.cli import main
from ict_core.config.load import load_study
from ict_core.config.study_file import Cell
from ict_core.errors import UserError
from ict_core.store.manifests import write_manifest
from ict_core.tools.place import Place, place_of
from ict_core.tools.verify import rerun as module
from ict_core.tools.verify.rerun import chosen_stages, rerun

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
STUDY = CONFIGS / "studies" / "mini.yaml"
PAPER = CONFIGS / "studies" / "paper.yaml"


def test_the_place_of_a_cell_and_of_a_base_model(tmp_path):
    for name in ("mini/mini-s/ict-10/seed-12", "mini/mini-s/base"):
        (tmp_path / name).mkdir(parents=True)
    place = place_of(tmp_path / "mini/mini-s/ict-10/seed-12")
    assert place == Place(tmp_path / "mini", Cell("mini-s", "ict-10", 12))
    assert place.checkpoint == tmp_path / "mini/mini-s/ict-10/seed-12/train/model"
    base = place_of(tmp_path / "mini/mini-s/base")
    assert base == Place(tmp_path / "mini", Cell("mini-s", "base", 0)) and base.checkpoint == place.base
    for number in (12, 3):
        (tmp_path / f"mini/mini-s/base/seed-{number}").mkdir()
    assert place_of(tmp_path / "mini/mini-s/base").cell.seed == 3  # the first of those that there are
    for wrong, told in (
        ("mini/mini-s/ict-10", "allowed: results/STUDY"),
        ("mini/mini-s/grpo/seed-0", "no such folder"),
    ):
        with pytest.raises(UserError, match=told):
            place_of(tmp_path / wrong)


@pytest.mark.parametrize(
    ("cell", "wanted", "steps", "expected"),
    [
        (("mini-s", "ict-10", 0), None, None, ("train", "generate", "grade")),
        (("mini-s", "ict-10", 0), None, 5, ("train",)),
        (("mini-s", "ict-10", 0), "grade, generate", None, ("generate", "grade")),
        (("mini-s", "base", 0), None, None, ("pretrain", "generate", "grade")),
        (("qwen2.5-0.5b", "base", 0), None, None, ("generate", "grade")),
    ],
)
def test_the_stages(cell, wanted, steps, expected):
    study = load_study(PAPER if cell[0].startswith("qwen") else STUDY)
    assert chosen_stages(Place(Path("r"), Cell(*cell)), study, wanted, steps) == expected


@pytest.mark.parametrize(
    ("variant", "wanted", "steps", "told"),
    [
        ("ict-10", "pretrain", None, "pretrain cannot be rerun; allowed: train,generate,grade"),
        ("ict-10", None, 0, "allowed: 1 to"),
        ("ict-10", None, 10_000, "allowed: 1 to"),
        ("ict-10", "train,generate", 3, "only a training has steps"),
        ("base", None, 3, "only a training has steps"),
    ],
)
def test_what_cannot_be_rerun_is_refused(variant, wanted, steps, told):
    with pytest.raises(UserError, match=told):
        chosen_stages(Place(Path("r"), Cell("mini-s", variant, 0)), load_study(STUDY), wanted, steps)


def test_a_rerun_ends_with_the_last_update_of_a_batch():
    study = load_study(STUDY.with_name("kl-cov-scopes.yaml"))
    place = Place(Path("r"), Cell("mini-s", "grpo", 0))
    with pytest.raises(UserError, match="a multiple of 2"):
        chosen_stages(place, study, None, 1)
    assert chosen_stages(place, study, None, 2) == ("train",)


def test_a_kept_folder_must_be_empty_and_the_cell_of_the_study(tmp_path, capsys):
    (tmp_path / "mini/mini-s/grpo/seed-7").mkdir(parents=True)
    (tmp_path / "mini/mini-s/grpo/seed-1").mkdir(parents=True)
    assert main(["verify", str(tmp_path / "mini/mini-s/grpo/seed-7"), "--study", str(STUDY)]) == 2
    assert "no cell mini-s/grpo/seed-7" in capsys.readouterr().err
    cell = str(tmp_path / "mini/mini-s/grpo/seed-1")
    write_manifest(tmp_path / "mini/mini-s/grpo/rate.json", {"learning_rate": 3e-4})
    assert main(["verify", cell, "--study", str(STUDY), "--keep", str(tmp_path)]) == 2
    assert "allowed: a new or an empty folder" in capsys.readouterr().err


def commands(monkeypatch, place: Place, study_file: Path, stages: tuple[str, ...], steps: int | None, out: Path):
    """What would be run, without the interpreter's own path, and with how many threads."""
    ran = []

    def note(command, *, stdout, stderr, env, check):
        ran.append((shlex.join(command), env["OMP_NUM_THREADS"]))
        return type("Done", (), {"returncode": 0})

    monkeypatch.setattr(module.subprocess, "run", note)
    monkeypatch.setattr(module.sys, "executable", "python")
    list(rerun(place, load_study(study_file), study_file, stages, steps, out))
    return [(text.replace("python -m ict_core", "ict"), threads) for text, threads in ran]


def test_the_commands_are_the_workflows_own_without_a_cache(monkeypatch, tmp_path):
    place = Place(Path("results/mini"), Cell("mini-s", "ict-10", 1))
    cell = "--model mini-s --variant ict-10 --seed 1"
    study = f"--study {STUDY}"
    new = f"{tmp_path}/mini-s/ict-10/seed-1"
    problems = "--problems results/mini/data"
    graded = f"{problems}/eval.parquet --out {new}/grades.parquet --manifest {new}/grading.json"
    grade = f"ict grade {study} --completions {{}}/completions.parquet {graded}"
    found = commands(monkeypatch, place, STUDY, ("train", "generate", "grade"), None, tmp_path)
    assert found == [
        (
            f"ict lease --gpus 0 -- ict train {study} {cell} --base results/mini/mini-s/base/seed-0/model "
            f"--out {new}/train {problems}/train.parquet",
            "1",
        ),
        (
            f"ict lease --gpus 0 -- ict generate {study} {cell} --checkpoint {new}/train/model "
            f"{problems}/eval.parquet --out {new}/completions.parquet --manifest {new}/generation.json",
            "1",
        ),
        (grade.format(new), "1"),
    ]
    (alone,) = commands(monkeypatch, place, STUDY, ("grade",), None, tmp_path)
    stored = "results/mini/mini-s/ict-10/seed-1"
    assert alone[0] == grade.format(stored)
    (short,) = commands(monkeypatch, place, STUDY, ("train",), 5, tmp_path)
    assert short[0].endswith("--stop-after 5")


def test_a_model_on_gpus_is_trained_by_its_launcher(monkeypatch, tmp_path):
    study = load_study(PAPER)
    model = next(name for name, m in study.models.items() if m.hardware and m.hardware.gpus > 1)
    hardware = study.models[model].hardware
    place = Place(Path("results/paper"), Cell(model, "grpo", 0))
    (found,) = commands(monkeypatch, place, PAPER, ("train",), None, tmp_path)
    launcher = f"accelerate launch --config_file {CONFIGS}/accelerate/{hardware.accelerate}.yaml"
    expected = f"ict lease --gpus {hardware.gpus} -- {launcher} --num_processes {hardware.gpus} -m ict_core train "
    assert found[0].startswith(expected) and found[1] == str(study.training.threads * hardware.gpus)


def test_a_stage_that_fails_again_is_named_with_its_last_line(monkeypatch, tmp_path):
    def fail(command, *, stdout, **_):
        stdout.write(b"first\nno room\n")
        stdout.flush()
        return type("Done", (), {"returncode": 3})

    monkeypatch.setattr(module.subprocess, "run", fail)
    place = Place(tmp_path, Cell("mini-s", "grpo", 0))
    with pytest.raises(UserError, match="grade of .* status 3: no room"):
        list(rerun(place, load_study(STUDY), STUDY, ("grade",), None, tmp_path / "out"))
