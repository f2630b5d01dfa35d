"""The test that decides, against scipy; and contrasts and claims beside each other."""

import math

import numpy as np
import pytest
from scipy import stats

from ict_core.evidence.claims import DifferenceTest
from ict_core.evidence.decide import outcome
from ict_core.seeding import generator
from ict_core.statistics.arms import Arm
from ict_core.statistics.contrasts import Comparisons, contrast_frame
from ict_core.statistics.deciding import (
    BETTER,
    CONTRADICTED,
    EQUIVALENT,
    IDENTICAL,
    NONE_SEEN,
    NOT_CONFIRMED,
    NOT_RESOLVED,
    PREDICTED,
    SUPPORTED,
    WORSE,
    claim_verdict,
    finding,
    p_of_strata,
    sign_flip,
)

MARGIN = 0.02


def by_scipy(strata):
    """The sign-flip test of the mean over strata, every sign counted."""
    weights = np.concatenate([np.full(len(s), 1 / (len(strata) * len(s))) for s in strata])
    sample = np.concatenate(strata) * weights
    return stats.permutation_test(
        (sample,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    ).pvalue


@pytest.mark.slow
def test_the_sign_flip_of_strata_is_scipys():
    rng = generator(1, "strata")
    for sizes in ((10,), (12,), (16,)):
        strata = [rng.normal(0.01, 0.02, size) for size in sizes]
        assert p_of_strata(strata, math.nan) == pytest.approx(by_scipy(strata), rel=1e-12)
    pair = [rng.normal(0.008, 0.02, 10), rng.normal(0.008, 0.02, 11)]  # 2^21 signs: by 100,000 of them
    signs = 1.0 - 2.0 * (np.arange(2**20)[:, None] >> np.arange(21)[None] & 1)
    each = np.concatenate([values / len(values) for values in pair])
    counted = (np.abs(signs @ each) >= abs(each.sum()) - 1e-12).mean()
    assert p_of_strata(pair, math.nan) == pytest.approx(counted, abs=4 * math.sqrt(counted / 1e5))


def test_a_stratum_of_fewer_than_ten_seeds_leaves_the_t_to_decide():
    strata = [np.arange(9.0), np.arange(30.0)]
    assert p_of_strata(strata, 0.123) == 0.123


@pytest.mark.parametrize(
    ("found", "verdicts"),
    [
        (BETTER, (SUPPORTED, CONTRADICTED, CONTRADICTED)),
        (WORSE, (CONTRADICTED, SUPPORTED, CONTRADICTED)),
        (EQUIVALENT, (CONTRADICTED, CONTRADICTED, SUPPORTED)),
        *((reason, (NOT_RESOLVED,) * 3) for reason in (NOT_CONFIRMED, NONE_SEEN, IDENTICAL)),
    ],
)
def test_what_a_finding_says_of_a_claim(found, verdicts):
    assert tuple(claim_verdict(PREDICTED[direction], found) for direction in ("higher", "lower", "equal")) == verdicts


def test_what_tests_find():
    assert finding([BETTER, WORSE], [0.02, 0.03], [0.04, 0.06], [0.9, 0.01]).tolist() == [BETTER, EQUIVALENT]
    # what only the correction hides is told from what was not seen
    assert finding(BETTER, [0.04, 0.06], [0.2, 0.3], 0.9).tolist() == [NOT_CONFIRMED, NONE_SEEN]
    assert finding(BETTER, math.nan, math.nan, math.nan) == NONE_SEEN


def arm(name, values):
    return Arm(f"m/{name}", tuple(range(len(values))), {"b": np.asarray(values)[:, None]})


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 9, 10, 17])
def test_a_contrast_and_a_claim_of_the_same_runs_agree(seeds):
    rng = generator(3, "agreement", seeds)
    arms = {"grpo": arm("grpo", np.full(seeds, 0.5))}
    for mean in np.linspace(0.0, 1.2, 9):  # of the runs' spread
        for spread in (0.004, 0.03):
            gaps = spread * (mean + rng.normal(0, 1, seeds))
            gaps[0] += seeds * spread  # one run far off: the t and the sign-flip then differ much
            arms[f"v{len(arms)}"] = arm(f"v{len(arms)}", 0.5 + gaps)
    of_metric = {"pass@1": {("m", name): values for name, values in arms.items()}}
    declared = {(name, "grpo", "pass@1"): ("question",) for name in arms if name != "grpo"}
    frame = contrast_frame(of_metric, {"m": list(arms)}, Comparisons(["grpo"], declared, [], MARGIN, 0.8))
    rows = frame[frame["benchmark"] == "average"].set_index("variant")
    for name, row in rows.iterrows():
        gaps = arms[name].runs("b") - arms["grpo"].runs("b")
        for direction in ("higher", "lower"):
            test = DifferenceTest(kind="difference", ours=name, against=("grpo",), metric="pass@1", direction=direction)
            result = outcome(test, {"m": gaps}, MARGIN)
            assert result.p == pytest.approx(row["p"], rel=1e-12)
            assert result.p_equivalence == pytest.approx(row["p_equivalence"], rel=1e-12) or row["p_equivalence"] > 0.5
            seen = finding(result.finding, result.p, row["p_adjusted"], row["p_equivalence_adjusted"])
            assert seen == row["verdict"]
            assert result.predicted == PREDICTED[direction]
    assert rows["verdict"].nunique() > 1
    if seeds >= 10:  # by the other test some of them would have another verdict
        assert ((rows["p_t"] < 0.05) != (rows["p_sign_flip"] < 0.05)).any()


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["normal", "heavy"])
def test_the_sign_flip_of_two_models_errs_in_at_most_five_percent(shape):
    """1,000 studies of two models and ten seeds without a difference; 3.3 standard errors of a share of 0.05."""
    rng, size = generator(4, "sign-flips of strata", shape), (1000, 20)
    values = rng.normal(0, 1, size) if shape == "normal" else rng.standard_t(2, size)
    p = sign_flip(values * np.repeat([1.0, 3.0], 10))
    assert p[0] == p_of_strata([values[0, :10], 3 * values[0, 10:]], math.nan)
    assert 0.02 < (p < 0.05).mean() < 0.05 + 3.3 * math.sqrt(0.05 * 0.95 / 1000)
