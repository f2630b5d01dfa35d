"""Updates of whole distributions in float64, and the measures of their agreement by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from ict_core.seeding import generator
from ict_core.theory.update import agreement, same_sign, updates

COUNT = 120
SIGNS = np.where(np.arange(COUNT) % 3 == 0, -1.0, 1.0)
CELL = {"model": "m", "variant": "ict-10", "seed": 0}


def entropies(logits):
    logprobs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    p = np.exp(logprobs)
    return logprobs[:, 0], -(p * logprobs).sum(-1), -np.log((p**2).sum(-1))


def frame(own, others=0.0, **columns):
    """States of eight tokens; the update moves the sampled one's logit by `own`, all by noise of the size `others`."""
    rng, number = generator(0, "updated states"), np.arange(COUNT)
    logits = rng.normal(0, 2, (COUNT, 8))
    logits[:, 0] += number % 4
    moves = others * rng.normal(size=logits.shape)
    moves[:, 0] += own
    names = ("logprob", "h1", "h2")
    before, after = entropies(logits), entropies(logits + moves)
    states = dict(zip(names, before, strict=True)) | {f"{n}_after": a for n, a in zip(names, after, strict=True)}
    cell = CELL | {"selecting": True, "kept": number % 5 > 0, "advantage": np.sign(own)}
    return pd.DataFrame(cell | states | columns)


def measures(tokens, which="kept", regime="all"):
    found = agreement(tokens)
    of_set = found[(found["set"] == which) & (found["regime"] == regime)]
    return of_set.set_index("measure")["value"]


def test_one_small_step_of_one_logit_is_as_stated_and_as_predicted():
    for which in ("kept", "dropped"):
        for regime in ("all", "p > beta", "p < beta"):
            found = measures(frame(0.01 * SIGNS), which, regime)
            assert found[["statement", "follows_advantage", "h2_sign", "h2_sign_first", "h1_sign"]].eq(1).all()
            assert found[["h2_exact_rank", "h2_exact_slope", "h1_exact_slope"]].to_numpy() == pytest.approx(1)
            assert found["h2_first_slope"] == pytest.approx(1, abs=0.03) and found["h2_first_slope"] != 1
    assert measures(frame(0.01 * SIGNS, advantage=-SIGNS))[["statement", "follows_advantage"]].eq(0).all()


def test_a_large_step_breaks_the_statement_and_the_first_order_but_not_the_exact_prediction():
    found = measures(frame(np.full(COUNT, 6.0)), regime="p < beta")
    assert found["statement"] == found["h2_sign_first"] < 0.5
    assert found["h2_sign"] == found["follows_advantage"] == 1
    assert measures(frame(np.full(COUNT, 6.0)), regime="p > beta")["statement"] == 1


def test_with_other_logits_moving_too_the_measures_are_those_of_their_definitions():
    tokens = frame(0.3 * SIGNS, others=0.3)
    found, kept = measures(tokens), tokens[tokens["kept"]]
    p, after = np.exp(kept["logprob"]), np.exp(kept["logprob_after"])
    shift = np.log(after / (1 - after) * (1 - p) / p)
    change, beta = kept["h2_after"] - kept["h2"], np.exp(-kept["h2"])
    new = (beta - p**2 + p**2 * np.exp(2 * shift)) / (1 + p * (np.exp(shift) - 1)) ** 2
    predicted = -np.log(new / beta)
    assert found["tokens"] == len(kept) == 0.8 * COUNT and found["moved"] == 1
    assert found["h2_change"] == pytest.approx(change.mean())
    assert found["statement"] == (np.sign(change) == np.sign(kept["advantage"] * (beta - p))).mean() < 1
    assert found["follows_advantage"] == (np.sign(shift) == kept["advantage"]).mean() < 1
    assert found["h2_sign"] == (np.sign(change) == np.sign(predicted)).mean() < 1
    assert found["h2_exact_rank"] == pytest.approx(spearmanr(change, predicted).statistic)
    assert found["h2_exact_slope"] == pytest.approx((change * predicted).sum() / (predicted**2).sum())
    assert found["together"] == (np.sign(change) == np.sign(kept["h1_after"] - kept["h1"])).mean()


def test_what_does_not_count():
    tokens = frame(0.01 * SIGNS, kept=True)
    tokens.loc[0, "selecting"] = False  # warm-up
    tokens.loc[1, ["logprob_after", "h1_after", "h2_after"]] = np.nan  # no update was made
    tokens.loc[2, "h2_after"] = tokens.loc[2, "h2"] + 0.9e-6  # below what single precision tells
    tokens.loc[3, "advantage"] = 0.0
    tokens.loc[4, "logprob_after"] = 0.0  # log-odds without end
    tokens.loc[5, "logprob_after"] = tokens.loc[5, "logprob"]  # no change of them
    rows = updates(tokens)
    assert list(rows.index) == list(range(2, COUNT))
    unknown = rows.isna()
    assert [*np.flatnonzero(unknown["h2_moved"]) + 2] == [2]
    assert [*np.flatnonzero(unknown["log_odds"]) + 2] == [2, 4, 5]
    assert [*np.flatnonzero(unknown["stated"]) + 2] == [*np.flatnonzero(unknown["advantage"]) + 2] == [3]
    assert [*np.flatnonzero(unknown["h2_exact"]) + 2] == [*np.flatnonzero(unknown["h1_first"]) + 2] == [4, 5]
    assert measures(tokens)["tokens"] == COUNT - 2 and measures(tokens)["moved"] == (COUNT - 3) / (COUNT - 2)


def test_few_tokens_have_no_measures():
    found = measures(frame(0.01 * SIGNS, kept=True)[:9])
    assert found["tokens"] == 9 and found.drop("tokens").isna().all()
    assert set(agreement(frame(0.01 * SIGNS, kept=True))["set"]) == {"kept"}
    assert agreement(frame(0.01 * SIGNS).assign(selecting=False)).empty


def test_the_share_by_chance_is_that_of_independent_signs():
    ours = np.array([1.0] * 6 + [-1.0] * 4 + [np.nan])
    theirs = np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 1.0, 1.0])
    assert same_sign(ours, theirs) == (pytest.approx(0.7), pytest.approx(0.6 * 0.5 + 0.4 * 0.5))
    zeros = np.zeros(5)
    without = same_sign(np.concatenate([ours, zeros]), np.concatenate([theirs, -np.ones(5)]))
    assert without == same_sign(ours, theirs) == same_sign(np.append(ours, -1.0), np.append(theirs, 0.0))  # no signs
    rng = generator(1, "independent signs")
    share, chance = same_sign(rng.normal(1, 1, 40000), rng.normal(-1, 1, 40000))
    assert share == pytest.approx(chance, abs=0.01) and chance < 0.4
