import numpy as np
import pandas as pd
import pytest
import synthetic
from scipy import stats

from ict_core.errors import UserError
from ict_core.statistics.multiplicity import holm
from ict_core.statistics.runs import AVERAGE, RUNS, run_frame
from ict_core.tables.contrasts import COLUMNS, contrasts, contrasts_table


def made(arms):
    """Runs of one model whose averages are given: {variant: [pass@1 of seed 1, 2, ...]}; pass@4 is 0.1 above."""
    rows = [
        ("tiny", variant, seed, AVERAGE, k, value + (0.1 if k == 4 else 0))
        for variant, values in arms.items()
        for seed, value in enumerate(values, start=1)
        for k in (1, 4)
    ]
    return pd.DataFrame(rows, columns=RUNS)


@pytest.fixture(scope="module")
def runs():
    return run_frame(synthetic.scores(), (1, 4))


def test_every_variant_meets_every_baseline_once(runs):
    tests = contrasts(runs, synthetic.VARIANTS, synthetic.BASELINES)
    assert list(tests.columns) == COLUMNS
    pairs = tests[["variant", "baseline"]].drop_duplicates()
    assert len(pairs) == 5 * 3 + 3 and len({frozenset(p) for p in pairs.itertuples(index=False)}) == len(pairs)
    assert len(tests) == 2 * 18 * 2
    assert (tests["seeds"] == 3).all() and set(tests["metric"]) == {"pass@1", "pass@4"}


def test_agrees_with_scipy_row_by_row(runs):
    tests = contrasts(runs, synthetic.VARIANTS, ["grpo"])
    average = runs[runs["benchmark"] == AVERAGE].set_index(["model", "variant", "k"])
    for row in tests.itertuples():
        k = int(row.metric[-1])
        ours, theirs = (average.loc[(row.model, v, k), "pass_at_k"].to_numpy() for v in (row.variant, row.baseline))
        expected = stats.ttest_rel(ours, theirs)
        low, high = expected.confidence_interval(0.95)
        assert (row.p, row.low, row.high) == pytest.approx((expected.pvalue, low, high))
        assert row.correlation == pytest.approx(np.corrcoef(ours, theirs)[0, 1])
    assert tests["p_holm"].to_numpy() == pytest.approx(holm(tests["p"]))


def test_verdicts():
    arms = {
        "grpo": [0.2, 0.3, 0.25],
        "ict-10": [0.4, 0.5, 0.4501],
        "ict-5": [0.1, 0.2, 0.1499],
        "stapo": [0.3, 0.2, 0.4],
    }
    verdicts = contrasts(made(arms), list(arms), ["grpo"]).drop_duplicates("variant").set_index("variant")["verdict"]
    assert verdicts.to_dict() == {"ict-10": "higher", "ict-5": "lower", "stapo": "not resolved"}


def test_equal_differences_are_said_to_be_no_test():
    tests = contrasts(made({"grpo": [0.2, 0.3, 0.25], "ict-10": [0.4, 0.5, 0.45]}), ["grpo", "ict-10"], ["grpo"])
    assert (tests["verdict"] == "no test: equal differences").all() and tests["p_holm"].isna().all()
    assert contrasts_table(tests).shown["difference"].tolist() == ["+20.0 ± —"] * 2


def test_one_seed_is_said_to_be_no_test():
    tests = contrasts(made({"grpo": [0.2], "ict-10": [0.4]}), ["grpo", "ict-10"], ["grpo"])
    assert (tests["verdict"] == "no test: one seed").all()
    table = contrasts_table(tests)
    assert table.shown[["p", "Holm p", "r"]].eq("—").all(axis=None)
    assert "2 declared tests, of which 0 could be made and 0 are resolved" in table.caption


def test_a_missing_seed_is_named():
    arms = {"grpo": [0.2, 0.3, 0.25], "ict-10": [0.4, 0.5]}
    with pytest.raises(UserError, match=r"tiny/ict-10 lacks seeds \[3\]"):
        contrasts(made(arms), list(arms), ["grpo"])


@pytest.mark.parametrize("baseline", ["base", "dapo"])
def test_a_baseline_must_be_a_trained_variant(runs, baseline):
    with pytest.raises(UserError, match=baseline):
        contrasts(runs, ["base", *synthetic.VARIANTS], [baseline])


def test_without_baselines_the_table_is_empty(runs):
    table = contrasts_table(contrasts(runs, synthetic.VARIANTS, []))
    assert table.shown.empty and "0 declared tests" in table.caption


def test_shown_by_model_and_metric(runs):
    table = contrasts_table(contrasts(runs, synthetic.VARIANTS, synthetic.BASELINES))
    groups = table.shown[["model", "metric"]].drop_duplicates().to_numpy().tolist()
    assert groups == [["tiny", "pass@1"], ["tiny", "pass@4"], ["small", "pass@1"], ["small", "pass@4"]]
    assert "72 declared tests, of which 72 could be made" in table.caption
    first = table.numbers.iloc[0]
    assert first["variant"] == table.shown["variant"].iloc[0]
    assert table.shown["r"].iloc[0] == f"{first['correlation']:.2f}".replace("-", "−")
