"""What the simulated ledgers say is true and what is not, by hand; their rates against the nominal one and the stored.

Agreement with the stored rates only shows that nothing has changed. Independent of them is what the first tests demand:
5 % a family where nothing differs, and the power of a t-test by its noncentral distribution.
"""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from ict_core.calibration.ledger import (
    CASES,
    MINI,
    NULL,
    RIGHT,
    WHOLE,
    WRONG,
    Case,
    _gaining,
    _runs,
    _truth,
    _wrong,
    measure,
    stored,
)
from ict_core.evidence import read_claims

ROOT = Path(__file__).parents[2]
CLAIMS = read_claims(ROOT / "configs" / "claims.yaml")
TRUE = {claim.id: claim for claim in CLAIMS}
MEASURED = [claim for claim in CLAIMS if claim.id != "kept-lie-near-beta-matched"]  # of which the stored rates are


def rates(rows, question):
    return {family: (rate, error) for family, _, asked, rate, error in rows if asked == question}


def test_where_nothing_differs_each_family_is_wrong_in_5_percent_at_most():
    found = rates(measure(CLAIMS, MINI, NULL, 3, 400, seed=5), WRONG)
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)
    assert all(rate <= limit for family, (rate, _) in found.items() if family != WHOLE), found
    assert 0.05 < found[WHOLE][0] < 1 - 0.95 ** (len(found) - 1) + 0.08  # families are corrected, the whole is not


def test_the_power_of_a_family_of_one_claim_is_that_of_its_t_test():
    """`score` holds one claim of these arms; the paired runs vary by the run's and the cells' own spread."""
    case = Case("by hand", 0.02)
    sd = np.sqrt(2 * (case.run_sd**2 + case.cell_sd**2 / 7))  # of the difference of two runs' averages
    shift, limit = 0.02 / (sd / np.sqrt(6)), stats.t.ppf(0.975, 5)
    power = stats.nct.sf(limit, 5, shift)
    found, error = rates(measure(CLAIMS, MINI, case, 6, 400, seed=5), RIGHT)["score"]
    assert found == pytest.approx(power, abs=4 * error)


def test_scores_have_the_spread_that_the_case_names():
    case = Case("wide", gain=0.1, base_sd=0.05, run_sd=0.02, cell_sd=0.01)
    runs = _runs(case, ["a", "b"], {"b"}, 4000, np.random.default_rng(1))
    scores = runs[(runs["benchmark"] == "average") & (runs["metric"] == "pass@1")]
    a, b = (scores.loc[scores["variant"] == arm, "value"].to_numpy() for arm in "ab")
    assert (b - a).mean() == pytest.approx(0.1, abs=0.002)
    assert (b - a).std() == pytest.approx(np.sqrt(2 * (0.02**2 + 0.01**2 / 7)), rel=0.05)
    assert a.std() == pytest.approx(np.sqrt(0.05**2 + 0.02**2 + 0.01**2 / 7), rel=0.05)
    by_benchmark = runs[(runs["variant"] == "a") & (runs["seed"] == 0) & (runs["benchmark"] != "average")]
    means = by_benchmark.groupby("metric")["value"].mean()
    assert a[0] == pytest.approx(means["pass@1"]) and means["total"] == pytest.approx(means[:-1].mean())


def test_what_is_true_by_hand():
    gaining = _gaining(CLAIMS)
    assert {"ict-10", "replica", "ict-10-w20", "ict-10-g16"} <= gaining and not gaining & {"grpo", "random-10"}
    truths = {name: _truth(TRUE[name], 0.02, gaining) for name in TRUE if TRUE[name].test}
    assert truths["gain-over-grpo"] == truths["headline-abstract"] == truths["largest-over-grpo"] == 0.02
    no_gain = ("no-effect-where-there-is-none", "pass4-gain-exceeds-pass1-gain", "h1-falls", "same-normaliser")
    assert [truths[name] for name in no_gain] == [0, 0, 0, 0]


def test_a_finding_on_the_side_on_which_the_truth_does_not_lie_is_wrong():
    assert all(_wrong(*found) for found in [("better", 0.0), ("worse", 0.0), ("worse", 0.02)])
    assert not any(_wrong(*found) for found in [("better", 0.02), ("equivalent", 0.0), ("none seen", 0.02)])


def test_the_stored_rates_keep_their_word():
    frame = stored()
    assert set(frame["case"]) == {case.name for case in CASES} and set(frame["seeds"]) == {3, 6, 10, 20}
    wrong = frame[(frame["question"] == WRONG) & (frame["family"] != WHOLE)]
    error = np.sqrt(0.05 * 0.95 / wrong["repetitions"])
    over = wrong[wrong["rate"] > 0.05 + 3.5 * error]
    assert over.empty, over.to_string()


def test_a_small_rerun_agrees_with_the_stored_rates():
    frame = stored()
    for case, seeds in ((NULL, 3), (CASES[2], 6)):
        rows = frame[(frame["arms"] == "mini") & (frame["case"] == case.name) & (frame["seeds"] == seeds)]
        for family, claims, question, rate, error in measure(MEASURED, MINI, case, seeds, 100, seed=9):
            kept = rows[(rows["family"] == family) & (rows["question"] == question)].iloc[0]
            assert kept["claims"] == claims
            near = max(error, kept["error"], np.sqrt(0.02 / 100))
            assert abs(rate - kept["rate"]) < 4.5 * np.hypot(near, kept["error"]), (
                family,
                question,
                rate,
                kept["rate"],
            )
