"""`ict tokens`: from a cell's folder to its page."""

import json
import shutil
from pathlib import Path

import pytest

from ict_core.commands.cli import main
from ict_core.config.load import load_study
from ict_core.config.study_file import Cell
from ict_core.problems.mini.problems import evaluation_problems
from ict_core.store import records
from ict_core.store.manifests import write_manifest

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
STUDY = CONFIGS / "studies" / "mini.yaml"


@pytest.fixture
def cell(tiny_checkpoint, tmp_path) -> Path:
    """A cell of ict-10 whose model is the tiny one, with its study's evaluation problems."""
    folder = tmp_path / "mini" / "mini-s" / "ict-10" / "seed-1"
    shutil.copytree(tiny_checkpoint, folder / "train" / "model")
    chosen = Cell("mini-s", "ict-10", 1)
    config = load_study(STUDY).with_rate(chosen, 1e-4).resolve(chosen)
    config["training"] |= {"max_new_tokens": 12, "group_size": 4, "micro_batch_sequences": 16}
    write_manifest(folder / "train" / "manifest.json", {"config": config})
    problems = evaluation_problems(0, {"mini-word": ("word", 5), "mini-stem": ("stem", 4)})
    records.write_frame(problems, tmp_path / "mini" / "data" / "eval.parquet", records.PROBLEMS)
    return folder


def data_of(page: Path) -> dict:
    inside = page.read_text().partition('id="data">')[2].partition("</script>")[0]
    return json.loads(inside)


def test_a_trained_cell(cell, capsys):
    rules = ["--method", str(CONFIGS / "methods/entropy-20.yaml"), "--method", str(CONFIGS / "methods/random-10.yaml")]
    options = ["tokens", str(cell), "--benchmark", "mini-word", "--count", "2", "--alternatives", "3", *rules]
    assert main(options) == 0
    assert capsys.readouterr().out.strip() == str(cell / "tokens.html")
    data = data_of(cell / "tokens.html")
    assert (data["title"], data["rules"]) == ("mini/mini-s/ict-10/seed-1", ["ict-10", "entropy-20", "random-10"])
    assert [group["benchmark"] for group in data["groups"]] == ["mini-word"] * 2
    rollouts = [rollout for group in data["groups"] for rollout in group["rollouts"]]
    assert len(rollouts) == 8 and {len(at) for r in rollouts for at in r["likeliest"]} == {3}
    for rollout in rollouts:
        u, kept = rollout["columns"]["js"], rollout["kept"]
        assert len(kept[0]) == len(kept[2]) == -(-len(u) // 10)
        assert min(u[t] for t in kept[0]) >= max([x for t, x in enumerate(u) if t not in kept[0]], default=0)
    entropies = sorted((h for r in rollouts for h in r["columns"]["h1"]), reverse=True)
    marked = [r["columns"]["h1"][t] for r in rollouts for t in r["kept"][1]]
    assert sorted(marked, reverse=True) == entropies[: len(marked)]
    assert len(marked) == pytest.approx(0.2 * len(entropies), abs=1)
    again = cell.parent / "again.html"
    assert main([*options, "--out", str(again)]) == 0
    assert again.read_bytes() == (cell / "tokens.html").read_bytes()


def test_problems_of_another_kind_have_no_known_forks(cell, capsys, tmp_path):
    problems = evaluation_problems(0, {"mini-word": ("word", 2)})
    records.write_frame(problems.assign(prompt="What is 2 + 3?"), tmp_path / "sums.parquet", records.PROBLEMS)
    options = ["tokens", str(cell), "--problems", str(tmp_path / "sums.parquet"), "--count", "1"]
    assert main(options) == 0
    assert main([*options, "--method", str(CONFIGS / "methods/oracle-decisions.yaml")]) == 2
    assert "known" in capsys.readouterr().err


def test_a_base_model_has_no_rule_of_its_own(cell):
    base = cell.parents[1] / "base"
    shutil.move(cell / "train" / "model", base / "seed-0" / "model")
    problems = str(cell.parents[2] / "data" / "eval.parquet")
    assert main(["tokens", str(base), "--study", str(STUDY), "--problems", problems, "--count", "1"]) == 0
    data = data_of(base / "tokens.html")
    assert data["rules"] == [] and len(data["groups"][0]["rollouts"]) == load_study(STUDY).training.group_size


def test_mistakes_are_named(cell, capsys, tmp_path):
    def error(*options: str) -> str:
        assert main(["tokens", str(cell), *options]) == 2
        return capsys.readouterr().err

    for count in ("10", "0"):
        assert f"--count {count} is not allowed; allowed: 1 to 9" in error("--count", count)
    assert "--benchmark mini-words: " in error("--benchmark", "mini-words")
    assert "ict-10 is marked already" in error("--method", str(CONFIGS / "methods/ict-10.yaml"))
    assert "none.parquet: no such" in error("--problems", str(tmp_path / "none.parquet"))
    assert "ict.yaml: no such" in error("--method", str(CONFIGS / "methods/ict.yaml"))
    assert "--alternatives 21 is not allowed; allowed: 0 to 20" in error("--alternatives", "21")
