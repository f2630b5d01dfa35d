"""What a cell's manifest says of its training, read back."""

from pathlib import Path

import pytest

from ict_core.commands.cli import main
from ict_core.config.load import load_study
from ict_core.config.study_file import Cell
from ict_core.errors import UserError
from ict_core.store.manifests import write_manifest
from ict_core.tools.inspection.cell import inspected

STUDIES = Path(__file__).resolve().parents[3] / "configs/studies"


def write_cell(folder: Path, config: dict) -> Path:
    (folder / "train").mkdir(parents=True)
    write_manifest(folder / "train" / "manifest.json", {"config": config})
    return folder


@pytest.mark.parametrize("name", ["mini", "mini-ablations"])
def test_a_manifest_gives_back_every_variants_training(name, tmp_path):
    study = load_study(STUDIES / f"{name}.yaml")
    for variant, method in study.methods.items():
        folder = tmp_path / name / "mini-s" / variant / "seed-1"
        cell = Cell("mini-s", variant, 1)
        study = study.with_rate(cell, 1e-4) if study.is_tuned(cell) else study
        found = inspected(write_cell(folder, study.resolve(cell)))
        assert found.name == f"{name}/mini-s/{variant}/seed-1"
        assert found.rules == {variant: method.model_copy(update={"ablation": None, "source": None})}
        recipe = study.training_of("mini-s", variant).model_copy(update={"checkpoint_every": None})  # changes nothing
        assert found.training == recipe
        assert (found.grading, found.known_forks, found.template) == (study.grading.dump(), True, None)
        assert (found.study, found.checkpoint) == (tmp_path / name, folder / "train" / "model")


def test_published_problems_have_no_known_forks_and_a_model_its_template(tmp_path):
    study = load_study(STUDIES / "paper.yaml")
    cell = study.cells()[0]
    config = study.with_rate(cell, 1e-6).resolve(cell)
    found, prompt = inspected(write_cell(tmp_path / "s/m/v/seed-0", config)), study.models[cell.model].prompt
    assert not found.known_forks and found.template.template == prompt.template


def test_a_base_model_takes_its_recipe_from_the_study(tmp_path):
    study = load_study(STUDIES / "mini.yaml")
    model = tmp_path / "mini" / "mini-s" / "base" / "seed-0" / "model"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    for folder in (model.parent, model.parents[1]):
        found = inspected(folder, STUDIES / "mini.yaml")
        assert (found.name, found.rules, found.checkpoint) == ("mini/mini-s/base/seed-0", {}, model)
    assert (found.training, found.study, found.known_forks) == (study.training, tmp_path / "mini", True)
    with pytest.raises(UserError, match="name its study: --study"):
        inspected(model.parent)
    other = model.parents[2].rename(tmp_path / "mini" / "mini-x") / "base"
    with pytest.raises(UserError, match="'mini-x' .* allowed: mini-s, mini-m$"):
        inspected(other, STUDIES / "mini.yaml")


def test_what_is_no_cell_is_refused(tmp_path, capsys):
    assert main(["tokens", str(tmp_path)]) == 2
    assert "allowed: results/STUDY/MODEL/" in capsys.readouterr().err
    config = load_study(STUDIES / "mini-ablations.yaml").resolve(Cell("mini-s", "ict-10", 0))
    cell = write_cell(tmp_path / "s/m/ict-10/seed-0", config)
    with pytest.raises(UserError, match="recipe in .*manifest.json"):
        inspected(cell, STUDIES / "mini.yaml")
    old = config | {"method": config["method"] | {"selector": "ict"}}
    with pytest.raises(UserError, match="config.method: .*'ict'.* another version"):
        inspected(write_cell(tmp_path / "s/m/ict-10/seed-1", old))
    short = config | {"training": {k: v for k, v in config["training"].items() if k != "temperature"}}
    with pytest.raises(UserError, match="config.training.temperature: "):
        inspected(write_cell(tmp_path / "s/m/ict-10/seed-2", short))
