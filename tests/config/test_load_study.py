"""What a good study resolves to."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from ict_core.config import Cell, load_study
from ict_core.config.methods import Ict

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.fixture(scope="module")
def mini():
    return load_study(CONFIGS / "studies" / "mini.yaml")


@pytest.mark.parametrize("path", sorted((CONFIGS / "studies").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_study_loads(path):
    study = load_study(path)
    assert study.name == path.stem
    assert len(study.benchmarks) == 7


def test_every_file_is_used_by_a_study_and_names_its_origin():
    studies = [load_study(path) for path in (CONFIGS / "studies").glob("*.yaml")]
    for kind in ("models", "methods", "benchmarks"):
        used = {name for study in studies for name in getattr(study, kind)}
        assert used == {path.stem for path in (CONFIGS / kind).glob("*.yaml")}
    for path in (CONFIGS / "methods").glob("*.yaml"):
        assert path.read_text().startswith("# ") and "arXiv:" in path.read_text().split("selector:")[0]


def test_cells_are_the_grid_in_its_order(mini):
    cells = mini.cells()
    assert len(cells) == len(set(cells)) == 2 * 5 * 3 + 3 * 3
    assert cells[0] == Cell("mini-s", "grpo", 0)
    assert cells[-1] == Cell("mini-s", "ict-30", 2)
    assert cells == load_study(CONFIGS / "studies" / "mini.yaml").cells()
    assert mini.base_cells() == [Cell("mini-s", "base", 0), Cell("mini-m", "base", 0)]


def test_variants_differ_in_the_method_and_seed_only(mini):
    reference = mini.resolve(Cell("mini-s", "grpo", 0))
    for cell in mini.cells():
        resolved = mini.resolve(cell)
        assert resolved["method"]["name"] == cell.variant and resolved["seed"] == cell.seed
        different = {key for key in reference | resolved if reference.get(key) != resolved.get(key)}
        assert different <= {"method", "seed"} | ({"model"} if cell.model != "mini-s" else set())


def test_resolved_configurations_are_json(mini):
    cell = mini.cells()[9]
    for stage in ("train_data", "eval_data", "base", "train", "generate", "grade", "statistics"):
        config = mini.stage_config(stage, cell)
        assert json.loads(json.dumps(config)) == config
    with pytest.raises(ValueError, match="needs a cell"):
        mini.stage_config("generate")


def edited(configs: Path, file: str, old: str, new: str) -> None:
    text = (configs / file).read_text()
    assert text.count(old) == 1
    (configs / file).write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("samples: 8", "samples: 16", {"generate"}),
        ("pass_at: [1, 4]", "pass_at: [1, 8]", {"statistics"}),
        ("seconds: 5", "seconds: 6", {"grade", "train"}),
        ("train_problems: 2000", "train_problems: 1000", {"train_data", "train"}),
        ("# problems_per_benchmark", "problems_per_benchmark", {"eval_data"}),
    ],
)
def test_a_change_reaches_only_the_stages_that_it_concerns(mini, configs, old, new, changed):
    edited(configs, "studies/mini.yaml", old, new)
    other, cell = load_study(configs / "studies/mini.yaml"), mini.cells()[9]
    stages = ("train_data", "eval_data", "base", "train", "generate", "grade", "statistics")
    assert {s for s in stages if mini.stage_config(s, cell) != other.stage_config(s, cell)} == changed


def test_a_selector_change_concerns_its_own_cells_only(mini, configs):
    edited(configs, "methods/ict-20.yaml", "warmup_steps: 5", "warmup_steps: 6")
    other = load_study(configs / "studies/mini.yaml")
    assert {c.variant for c in mini.cells() if mini.resolve(c) != other.resolve(c)} == {"ict-20"}


def test_problems_per_benchmark_replaces_each_benchmarks_own_number(mini):
    smoke = load_study(CONFIGS / "studies" / "smoke.yaml")
    assert {b.problems for b in smoke.benchmarks.values()} == {4}
    assert {b.problems for b in mini.benchmarks.values()} == {30, 60}


@pytest.mark.parametrize(("written", "exact"), [("7", 7), ("7.1", Fraction(71, 10)), ("'0.1'", Fraction(1, 10))])
def test_percent_is_exact(configs, written, exact):
    edited(configs, "methods/ict-10.yaml", "percent: 10", f"percent: {written}")
    method = load_study(configs / "studies/mini.yaml").methods["ict-10"]
    assert isinstance(method, Ict)
    assert method.fraction == Fraction(exact) / 100
    assert method.parameters() == {"fraction": method.fraction}


def test_seven_percent_of_a_hundred_is_seven(configs):
    edited(configs, "methods/ict-10.yaml", "percent: 10", "percent: 7")
    fraction = load_study(configs / "studies/mini.yaml").methods["ict-10"].fraction
    assert -(-100 * fraction.numerator // fraction.denominator) == 7


@pytest.mark.parametrize("written", ["3e-4", "0.0003", "3.0e-4"])
def test_an_exponent_without_a_point_is_a_number(configs, written):
    edited(configs, "training/mini.yaml", "learning_rate: 3.0e-4", f"learning_rate: {written}")
    assert load_study(configs / "studies/mini.yaml").training.learning_rate == 3e-4


def test_a_study_is_found_from_any_folder(configs, monkeypatch):
    monkeypatch.chdir(configs / "studies")
    assert load_study(Path("mini.yaml")).name == "mini"
