"""Quantities of a run, by hand."""

import numpy as np
import pandas as pd
import pytest

from ict_core.evidence.measures import QUANTITIES, run_quantities
from ict_core.statistics.elbow import elbow
from ict_core.store.records import STUDY_TOKENS

CELL = {"model": "m", "variant": "ict-10", "seed": 0}


def tokens(**columns) -> pd.DataFrame:
    frame = pd.DataFrame({"step": 10, "group": 0, "rollout": 0, "selecting": True, **CELL, **columns})
    return frame.assign(**{c: 0.0 for c in STUDY_TOKENS if c not in frame})


def log(seeds=(0,), **columns) -> pd.DataFrame:
    rows = [pd.DataFrame({**CELL, "seed": s, "step": range(10), **columns}) for s in seeds]
    return pd.concat(rows, ignore_index=True)


LOG = log()


def value(quantity, frame, log_frame=LOG):
    (found,) = run_quantities([quantity], ["ict-10"], log_frame, frame)["value"]
    return found


def test_probability_of_the_kept_after_the_warm_up():
    frame = tokens(logprob=np.log([0.1, 0.3, 0.9, 0.8]), kept=[True, True, False, True])
    frame["selecting"] = [True, True, True, False]
    assert value("probability_of_kept", frame) == pytest.approx(0.2)


def test_share_above_the_median_of_the_step_a_tie_is_half():
    frame = tokens(h1=[0.0, 1.0, 2.0, 3.0, 4.0], kept=[False, False, True, True, True])
    assert value("high_entropy_share_of_kept", frame) == pytest.approx((2 + 0.5) / 3)
    later = frame.assign(step=20, h1=frame["h1"] + 100)  # each step has its own median
    assert value("high_entropy_share_of_kept", pd.concat([frame, later])) == pytest.approx((2 + 0.5) / 3)
    assert value("high_entropy_share_of_kept", frame.assign(kept=True)) == 0.5


def test_the_distance_from_beta_is_kept_less_dropped_and_so_at_like_entropy():
    """Of two levels of H1 in a group of a step; another step's token has no other kind beside it."""
    frame = tokens(
        logprob=np.log([0.5, 0.9, 0.5, 0.7, 0.9]),
        h2=-np.log([0.4, 0.6, 0.2, 0.3, 0.1]),
        kept=[True, False, True, False, True],
        h1=[0.0, 0.0, 1.0, 1.0, 1.0],
        step=[10, 10, 10, 10, 20],
    )
    assert value("distance_from_beta", frame[:2]) == pytest.approx(0.1 - 0.3)
    assert value("distance_from_beta_matched", frame) == pytest.approx((0.1 - 0.3 + 0.3 - 0.4) / 2)


def test_recall_and_precision_of_the_known_forks():
    frame = tokens(fork=[1.0, 1.0, 1.0, 0.0, 0.0], kept=[True, False, False, True, True])
    for known, recall, precision in (
        (frame, 1 / 3, 1 / 3),
        (frame.assign(fork=0.0), np.nan, 0.0),  # none there
        (frame.assign(fork=np.nan), np.nan, np.nan),  # none known
    ):
        found = [value(f"fork_{name}", known) for name in ("recall", "precision")]
        assert found == pytest.approx([recall, precision], nan_ok=True)


def updated(count, change1, change2, **columns):
    """Tokens whose H1 and H2 an update moved by so much; p = 0.5 and beta = 0.6 where nothing else is said."""
    states = {"logprob": np.log(0.5), "h1": 1.0, "h2": -np.log(0.6), "logprob_after": np.log(0.49), "kept": True}
    frame = tokens(number=range(count), **states | columns)
    return frame.assign(h1_after=frame["h1"] + change1, h2_after=frame["h2"] + change2)


def test_the_sign_statement_counts_kept_tokens_against_chance():
    """p < beta: H2 is said to rise with A > 0. It does in 12 and falls in 4; with A < 0 it falls in 4: 16 of 20."""
    advantage, rises = np.r_[np.ones(16), -np.ones(4)], np.r_[np.ones(12), -np.ones(8)]
    frame = updated(20, 0.01, 0.01 * rises, advantage=advantage)
    dropped = updated(50, 0.01, -0.01, advantage=1.0, kept=False)
    chance = 0.8 * 0.6 + 0.2 * 0.4
    assert value("sign_statement", pd.concat([frame, dropped])) == pytest.approx(16 / 20 - chance)
    assert np.isnan(value("sign_statement", frame[:9]))  # too few


def test_h1_moves_with_h2_above_less_below_one_over_e():
    above = updated(20, 0.01, np.r_[0.01 * np.ones(15), -0.01 * np.ones(5)])
    below = updated(10, -0.01, np.r_[-0.01, 0.01 * np.ones(9)], logprob=np.log(0.3), kept=False)
    assert value("h1_moves_with_h2", pd.concat([above, below])) == pytest.approx(0.75 - 0.1)
    assert np.isnan(value("h1_moves_with_h2", above))


def test_the_elbow_is_that_of_the_mean_curve_over_sequences():
    scores = np.r_[np.linspace(1, 0.1, 10), np.linspace(0.1, 0, 90)]
    shuffled = np.random.default_rng(0).permutation(scores)
    two = pd.concat([tokens(js=shuffled, kept=False), tokens(js=shuffled, kept=False).assign(rollout=1)])
    assert value("elbow", two) == elbow(scores) == pytest.approx(0.1, abs=0.011)
    assert np.isnan(value("elbow", two.assign(js=0.0)))


def test_change_compares_the_last_fifth_of_the_steps_with_the_first():
    frame = log(h1=[2.0, 2.0, 9, 9, 9, 9, 9, 9, 1.0, 2.0], h2=1.0)
    assert value("h1_change", tokens(kept=[True]), frame) == pytest.approx(1.5 / 2 - 1)
    assert value("h2_change", tokens(kept=[True]), frame.sample(frac=1, random_state=1)) == 0


def test_a_run_without_a_selecting_step_has_no_value_and_a_variant_that_was_not_run_no_row():
    frame, names = tokens(logprob=np.log([0.2, 0.8]), kept=[True, False]), ["probability_of_kept", "h1_change"]
    found = run_quantities(names, ["grpo", "ict-10"], log(seeds=(0, 1), h1=1.0), frame)
    assert found["variant"].unique().tolist() == ["ict-10"]
    assert found[["seed", "quantity"]].to_numpy().tolist() == [[seed, name] for seed in (0, 1) for name in names]
    assert found["value"].to_numpy() == pytest.approx([0.2, 0.0, np.nan, 0.0], nan_ok=True)
    assert run_quantities(list(QUANTITIES), ["kl-10"], log(h1=1.0, h2=1.0), frame).empty
