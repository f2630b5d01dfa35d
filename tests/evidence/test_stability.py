"""Smaller studies drawn from a study's own seeds, held against the ledger itself on the same seeds."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from ict_core.evidence import Claim, DifferenceTest, Largest, LedgerFrames, ledger, stability
from ict_core.evidence import _stability as module
from ict_core.seeding import generator
from ict_core.statistics import CONTRADICTED, STABILITY, SUPPORTED, Graded
from ict_core.statistics._schemas import RUNS
from ict_core.store.records import SCORES

MARGIN, POWER = 0.02, 0.8
NOTHING_GRADED = Graded(pd.DataFrame(columns=list(SCORES)))


def difference(**more):
    settings = {"ours": "ict-10", "against": ("grpo",), "metric": "pass@4", "direction": "higher"} | more
    return DifferenceTest(kind="difference", **settings)


def claim(name, test, family="f", **more):
    return Claim(id=name, family=family, statement="S.", source="here", test=test, **more)


BOTH = {"against": ("grpo", "stapo")}
CLAIMS = (
    claim("mean", difference(**BOTH, combine="mean"), "headline"),
    claim("strongest", difference(**BOTH, combine="strongest"), "headline", after="mean"),
    claim("over-grpo", difference()),
    claim("over-stapo", difference(against=("stapo",)), paper_points=4.0),
    claim("lower", difference(direction="lower"), "other"),
    claim("equal", difference(direction="equal"), "other"),
    claim("search", Largest(kind="largest", ours="ict-10", against=("grpo",), metric="pass@4"), "search"),
    claim("less", difference(minus_metric="pass@1"), "less"),
    claim("untested", difference(ours="kl-10"), "untested"),
)


def frames(seeds, gain=0.05, seed=0):
    """Runs of one model whose gain over GRPO is near the spread, so that subsets disagree."""
    rng = np.random.default_rng(seed)
    rows = [
        ("m", variant, s, benchmark, metric, 0.4 + shift + rng.normal(0, 0.05))
        for variant, shift in (("grpo", 0.0), ("stapo", 0.01), ("ict-10", gain))
        for s in range(seeds)
        for benchmark in ("average", "b1", "b2")
        for metric in ("pass@1", "pass@4")
    ]
    runs = pd.DataFrame(rows, columns=list(RUNS))
    nothing = pd.DataFrame(columns=["model", "variant", "seed", "quantity", "value"])
    return LedgerFrames(runs, nothing, {}, NOTHING_GRADED)


def told(of, seeds=None):
    drawn = of if seeds is None else replace(of, runs=of.runs[of.runs["seed"].isin(seeds)])
    return {e.claim.id: e.verdict for e in ledger(CLAIMS, drawn, MARGIN, POWER) if e.outcome.seeds}


@pytest.mark.parametrize("gain", [0.04, -0.15])
def test_each_drawn_study_is_decided_as_the_ledger_decides_it(gain):
    of = frames(6, gain)
    whole, drawn = told(of), [told(of, seeds) for seeds in combinations(range(6), 3)]
    found = stability(CLAIMS, of, MARGIN, generator(0, "test"))
    assert list(found.columns) == list(STABILITY)
    assert found["seeds"].unique() == [3] and found["draws"].unique() == [20] and found["all_seeds"].unique() == [6]
    assert dict(zip(found["claim"], found["verdict"], strict=True)) == whole and "untested" not in whole
    opposite = {SUPPORTED: CONTRADICTED, CONTRADICTED: SUPPORTED}
    for row in found.itertuples():
        verdicts = [study[row.claim] for study in drawn]
        assert row.same == pytest.approx(verdicts.count(row.verdict) / 20)
        assert row.opposite == pytest.approx(verdicts.count(opposite.get(row.verdict)) / 20)
        assert row.same + row.other + row.opposite == pytest.approx(1)
    assert 0 < found["same"].mean() < 1  # else the case shows nothing


def test_only_studies_of_half_the_seeds_are_drawn_and_no_more_than_declared(monkeypatch):
    monkeypatch.setattr(module, "DRAWS", 30)
    found = stability(CLAIMS, frames(20, -0.9), MARGIN, generator(0, "test"))
    assert found["seeds"].unique().tolist() == [3, 6, 10] and set(found["draws"]) == {30}
    clear = found[(found["claim"] == "over-grpo") & (found["seeds"] > 3)]
    assert clear[["verdict", "same", "opposite"]].to_numpy().tolist() == [[CONTRADICTED, 1, 0]] * 2
    pd.testing.assert_frame_equal(found, stability(CLAIMS, frames(20, -0.9), MARGIN, generator(0, "test")))
    assert stability(CLAIMS, frames(5), MARGIN, generator(0, "test")).empty
    assert stability((), frames(20), MARGIN, generator(0, "test")).empty
