"""From a claim of the ledger back to its runs, on the stored study."""

import json
import re
import shutil
from math import comb
from pathlib import Path

import pandas as pd
import pytest

from ict_core.commands.cli import main
from ict_core.config.mistakes import shown
from ict_core.tools.explain import numbers
from ict_core.tools.explain.explain import explain

ROOT = Path(__file__).resolve().parents[3]
MINI = ROOT / "results/reference/mini"
CLAIMS = MINI / "claims.json"
SEEDS = "0, 1, 2, 3, 4, 5"


def pass_at_4() -> pd.Series:
    """The average over the benchmarks of each run, from the counts of the stored scores."""
    scores = pd.read_parquet(MINI / "scores.parquet")
    value = [1 - comb(n - c, 4) / comb(n, 4) for n, c in zip(scores["n"], scores["correct"], strict=True)]
    run = ["model", "variant", "seed"]
    runs = scores.assign(value=value).groupby([*run, "benchmark"])["value"].mean()
    return runs.drop("mini-stem", level="benchmark").groupby(run).mean()  # which has no headroom


def once(compute):
    """A function that computes only the first time; whatever is asked then gets the same."""
    results = []

    def computed(*arguments):
        if not results:
            results.append(compute(*arguments))
        return results[0]

    return computed


@pytest.fixture(scope="module", autouse=True)
def computed_once():
    """All that is explained here has the stored study's measurements and ledger, which take seconds to compute."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("run_quantities", "ledger"):
            patch.setattr(numbers, name, once(getattr(numbers, name)))
        yield


def told(name: str) -> str:
    text, sound = explain(CLAIMS, name)
    assert sound
    return text


def test_a_claim_by_hand():
    text, runs = told("gain-over-grpo"), pass_at_4()
    for variant in ("ict-10", "grpo"):
        values = ", ".join(f"{runs['mini-s', variant, seed]:.10g}" for seed in range(6))
        assert f"\n  mini-s/{variant}, seeds {SEEDS}: {values}\n" in text
        assert f"\nmini-s/{variant}/seed-2: 250 problems, 2000 samples, " in text
    by_arm = runs.groupby(["variant", "model"]).mean()
    estimate = (by_arm["ict-10"] - by_arm["grpo"]).mean()
    assert f"recomputed from scores.parquet: {estimate:.10g}, as printed\n" in text
    p = {claim["id"]: claim["p"] for claim in json.loads(CLAIMS.read_text())["claims"]}
    assert p["gain-over-stapo"] == p["gain-over-grpo"]  # the same runs, which count once: two tests
    holm = 2 * p["gain-over-grpo"]
    assert p["gain-over-grpo"] < p["gain-over-entropy"]
    assert "\n  test, declared by " in text
    adjusted = re.search(r"\n  p_adjusted, recomputed from scores.parquet: (\S+), as printed\n", text)
    assert adjusted is not None and float(adjusted[1]) == pytest.approx(holm, rel=1e-8)
    last, names = text.splitlines()[-1], ["test", "estimate", "low", "high", "p", "p_adjusted", "p_equivalence"]
    names += ["p_equivalence_adjusted", "seeds_needed", "seeds_needed_seen", "detectable", "verdict"]
    assert last.startswith("sound ") and f"24 runs, {', '.join(names)} as printed, 24 links hold; " in last


def test_claims_that_a_bound_ties_name_each_other():
    pair = ("probability-of-kept", "half-high-half-low-entropy")
    for name, other in (pair, pair[::-1]):
        assert f" ties it to {other}\n" in explain(CLAIMS, name)[0]
    assert " ties it to " not in explain(CLAIMS, "elbow-near-ten")[0]


@pytest.mark.parametrize(
    ("name", "arms", "source"),
    [
        ("headline-section-4-2", [f"mini-s/stapo, seeds {SEEDS}: "], "scores.parquet"),  # the strongest of three
        ("pass4-gain-exceeds-pass1-gain", [f"mini-s/ict-10, seeds {SEEDS}: "], "scores.parquet"),
        ("carry-over", [f"mini-s/base, seeds {SEEDS}: ", f"mini-s/ict-10, seeds {SEEDS}: "], "scores.parquet"),
        ("branching-points", [f"mini-s/ict-10, seeds {SEEDS}: "], "tokens.parquet"),
        ("h1-falls", [f"mini-s/ict-10, seeds {SEEDS}: "], "train_log.parquet"),
    ],
)
def test_each_kind_of_test_names_its_runs_and_computes_its_numbers_again(name, arms, source):
    """The code computes again what it wrote: nothing has changed. A claim by hand is above, more in tests/evidence."""
    text = told(name)
    assert all(f"\n  {arm}" in text for arm in arms)
    assert f"  from {shown(MINI / source)}\n" in text and f"verdict, recomputed from {source}: " in text


def test_of_a_searched_difference_the_runs_of_the_clearest_enter():
    text = told("largest-over-grpo")
    place = next(c for c in json.loads(CLAIMS.read_text())["claims"] if c["id"] == "largest-over-grpo")["remark"]
    model, benchmark, _ = place.partition("the clearest of ")[2].split(": ")[1].split(", ")
    scores = pd.read_parquet(MINI / "scores.parquet")
    chosen = scores[(scores["model"] == model) & (scores["benchmark"] == benchmark)]
    value = [1 - comb(n - c, 4) / comb(n, 4) for n, c in zip(chosen["n"], chosen["correct"], strict=True)]
    runs = chosen.assign(value=value).groupby(["variant", "seed"])["value"].mean()
    values = ", ".join(f"{runs['ict-10', seed]:.10g}" for seed in range(6))
    assert f"The runs that enter\n  {model}/ict-10, seeds {SEEDS}: {values}\n  {model}/grpo, " in text
    assert f"recomputed from scores.parquet: {(runs['ict-10'] - runs['grpo']).mean():.10g}, as printed" in text


@pytest.fixture
def copy(tmp_path) -> Path:
    for file in ("claims.json", "scores.parquet", "tokens.parquet", "train_log.parquet", "manifest.json", "study.json"):
        shutil.copy(MINI / file, tmp_path)
    return tmp_path / "claims.json"


def test_a_claim_whose_numbers_its_runs_do_not_give_is_told(copy, capsys):
    content = json.loads(copy.read_text())
    for claim in content["claims"]:
        if claim["id"] == "beats-random":
            claim |= {"estimate": 0.5, "verdict": "supported", "p": "none", "test": "another"}
    copy.write_text(json.dumps(content))
    assert main(["explain", str(copy), "--cell", "beats-random"]) == 1
    printed = capsys.readouterr().out
    assert "NOT the printed 0.5\n" in printed and "NOT the printed supported" in printed
    assert "test, declared by" in printed and "NOT the test that was made: ict-10 − random-10, pass@4" in printed
    assert re.match("NOT SOUND: .*: test, estimate, p, verdict; not checked: ", printed.splitlines()[-1])


def test_a_selection_of_no_claim_or_of_several_lists_the_claims(copy, tmp_path, capsys):
    def refused(*options: str) -> str:
        assert main(["explain", str(copy), *options]) == 2
        return capsys.readouterr().err

    claims = json.loads(copy.read_text())["claims"]
    known = ", ".join(repr(claim["id"]) for claim in claims)
    assert f"id 'gain' among these; allowed: {known}\n" in refused("--cell", "gain")
    contradicted = [claim["id"] for claim in claims if claim["verdict"] == "contradicted"]
    several = refused("--cell", "verdict=contradicted")
    assert f"{len(contradicted)} rows of" in several and len(contradicted) > 1
    assert "choose one (id):\n  " + "\n  ".join(contradicted) in several
    other = tmp_path / "other.yaml"
    other.write_text("claims: [{id: a, family: f, statement: S., source: here, needs: a model}]")
    error = refused("--cell", "gain-over-grpo", "--claims", str(other))
    known = ", ".join([*(claim["id"] for claim in claims if claim["family"].startswith("rules-over-")), "a"])
    assert f"{other}: " in error and f"gain-over-grpo; allowed: {known}; {copy} was made" in error


def test_what_make_figures_has_written_is_explained_by_the_stored_run(tmp_path):
    (tmp_path / "reference").symlink_to(MINI.parent)
    rebuilt = tmp_path / "rebuilt/mini"
    (rebuilt / "tables").mkdir(parents=True)
    cells = {"claims.json": "gain-over-grpo", "tables/contrasts.csv": "mini-s/ict-10/grpo/average/pass@4"}
    for file, cell in cells.items():
        shutil.copy(MINI / file, rebuilt / file)
        text, sound = explain(rebuilt / file, cell)
        assert sound and str(rebuilt / file) in text and "not checked: verdicts, completions" in text
