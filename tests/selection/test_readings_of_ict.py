"""The readings of ICT's formula, by hand, and each from the distributions to the mask in float64, token by token."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr, softmax

from ict_core.config.method_files import load_method
from ict_core.selection.base import Rule, TokenBatch
from ict_core.selection.registry import selector
from ict_core.store.layout import METHODS
from ict_core.tokens.streaming import Head, TokenStatistics, token_statistics
from ict_core.training.choice import Choice

READINGS = ("mean-all", "mean-uniform", "padded", "ties", "literal")
SIZE, VOCABULARY = 4, 11


def kept(u: list[list[float]], lengths: list[int], percent: int = 10, **stated) -> list[list[int]]:
    """The places that a rule keeps in each row of scores."""
    values = torch.tensor(u)
    mask = torch.arange(values.size(1)) < torch.tensor(lengths)[:, None]
    tokens = TokenStatistics.from_columns({"js": values * mask}, 1)
    given = {"score": "js", "scope": "sequence", "fraction": Fraction(percent, 100), "keep": "top"} | stated
    found = selector("top-score")(TokenBatch(tokens, torch.zeros(len(u)), mask), torch.Generator(), **given)
    assert not found[~mask].any()
    return [row.nonzero().flatten().tolist() for row in found]


def test_the_padded_length_gives_short_responses_more():
    u = [[0.0, 0.3, 0.1, 0.2, 0.4], [0.0, 0.2, 0.9, 0.9, 0.9]]
    # ceil(0.4 x 5) = 2 of each row's five positions; the second response has two tokens, which outrank the padding
    assert kept(u, [5, 2], percent=40, scope="padded") == [[1, 4], [0, 1]]
    assert kept(u, [5, 2], percent=40) == [[1, 4], [1]]
    assert kept([[*row, 0.7, 0.8] for row in u], [5, 2], percent=40, scope="padded") == [[1, 4], [0, 1]]
    # of five positions three: the zero of the response comes before those of the padding
    assert kept(u, [5, 2], percent=60, scope="padded") == [[1, 3, 4], [0, 1]]


def test_ties_at_the_threshold_are_all_kept():
    u = [[0.0, 0.2, 0.1, 0.2, 0.2], [0.0, 0.0, 0.0, 0.3, 0.0]]
    # the second highest is 0.2, of which there are three; in the other row it is 0, and all are at least that
    assert kept(u, [5, 5], percent=40, threshold="ties") == [[1, 3, 4], [0, 1, 2, 3, 4]]
    assert kept(u, [5, 5], percent=40) == [[1, 3], [0, 3]]
    assert kept(u, [5, 5], percent=40, threshold="ties", keep="rest") == [[0, 2], []]


def test_the_percentile_to_the_letter_keeps_what_lies_above_it():
    u = [[0.5, 0.1, 0.2, 0.3, 0.4], [0.0, 0.0, 0.1, 0.2, 0.3]]
    # the 10th of 0.1 .. 0.5 is 0.1 + 0.4 x 0.1 = 0.14; of the other row it is 0
    assert kept(u, [5, 5], threshold="percentile") == [[0, 2, 3, 4], [0, 1, 2, 3, 4]]
    assert kept(u, [1, 2], threshold="percentile") == [[0], [0, 1]]
    assert kept(u, [2, 5], percent=50, threshold="percentile") == [[0], [2, 3, 4]]


@pytest.mark.parametrize(("threshold", "number"), [("ties", 13), ("percentile", 987)])
def test_a_share_of_many_digits_is_exact(threshold, number):
    many = Fraction("1.25892541179416721042395410639") / 100
    u = [place / 1024 for place in range(1000)]  # 1 % of 1000 and more are 13; 13 places lie below the percentile
    assert len(kept([u], [1000], threshold=threshold, fraction=many)[0]) == number


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40))
def test_numpy_s_90th_percentile_is_the_reading_with_ties(values):
    u = [value / 8 for value in values]
    wanted = np.flatnonzero(np.asarray(u) >= np.percentile(u, 90)).tolist()
    assert kept([u], [len(u)], threshold="ties") == [wanted]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(1, 100))
def test_the_percentile_is_numpy_s(values, percent):
    u = [value / 8 for value in values]
    wanted = np.flatnonzero(np.asarray(u) >= np.percentile(u, percent) - 1e-12).tolist()
    assert kept([u], [len(u)], percent=percent, threshold="percentile") == [wanted]


def scores(probs: np.ndarray, lengths: list[int], reading: str) -> np.ndarray:
    """u of every token, (B, T), from (B, T, V), one term after the other; NaN at padding."""
    rows, longest, size = probs.shape
    u = np.full((rows, longest), np.nan)
    for i in range(rows):
        group = range(i // SIZE * SIZE, i // SIZE * SIZE + SIZE)
        for t in range(lengths[i]):
            live = [j for j in group if lengths[j] > t]
            q = sum(probs[j, t] for j in live)
            if reading == "mean-uniform":
                q = q + (SIZE - len(live)) * np.full(size, 1 / size)
            q = q / (SIZE if reading.startswith("mean") else len(live))
            middle = (probs[i, t] + q) / 2
            value = (rel_entr(probs[i, t], middle).sum() + rel_entr(q, middle).sum()) / 2
            u[i, t] = value if value >= 1e-6 else 0.0
    return u


def edge(u: np.ndarray, longest: int, reading: str) -> float:
    """The lowest kept score of a response's tokens."""
    if reading == "literal":
        return float(np.percentile(u, 10))
    among = np.concatenate([u, np.zeros(longest - len(u))]) if reading == "padded" else u
    return float(np.sort(among)[::-1][math.ceil(len(among) / 10) - 1])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("reading", READINGS)
def test_a_reading_is_its_formula_from_the_distributions_to_the_mask(reading, seed):
    g = np.random.default_rng(seed)
    rows, longest = 2 * SIZE, 35
    lengths = [longest, *g.integers(1, longest, rows - 1).tolist()]
    logits = 3 * g.normal(size=(rows, longest, VOCABULARY)).astype(np.float32)
    for first in (0, SIZE):  # some prefixes are shared, so that u is 0 there
        shared = g.integers(1, 30)
        logits[first : first + SIZE, :shared] = logits[first, :shared]
    rule = Rule.of(reading, load_method(METHODS / f"ict-10-{reading}.yaml"))
    mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
    where = torch.arange(rows * longest).view(rows, longest).masked_fill(~mask, -1)
    states = torch.from_numpy(logits).flatten(0, 1)
    options = {"group_size": SIZE, "temperature": 1.0, "scores": Choice.of(rule).scores}
    tokens = token_statistics(states, Head(torch.eye(VOCABULARY)), where, torch.zeros_like(where), **options)
    found = rule.weights(TokenBatch(tokens, torch.zeros(rows), mask), 0)
    u = scores(softmax(logits.astype(np.float64), -1), lengths, reading)
    for row, length in enumerate(lengths):
        own, lowest, chosen = u[row, :length], edge(u[row, :length], longest, reading), found[row, :length].numpy()
        assert chosen[own > lowest + 1e-5].all() and not chosen[own < lowest - 1e-5].any()
        if reading in ("ties", "literal"):
            assert chosen[own >= lowest - 1e-6].all()
        else:
            among = longest if reading == "padded" else length
            assert chosen.sum() == min(length, math.ceil(among / 10))
    assert not found[~mask].any()


def test_where_one_rollout_is_live_zeros_rank_all_its_tokens_alike():
    g = torch.Generator().manual_seed(0)
    where = torch.tensor([[0, 1, 2, 3, 4], [5, -1, -1, -1, -1]])
    states = 4 * torch.randn(6, 7, generator=g)
    tokens = token_statistics(
        states, Head(torch.eye(7)), where, torch.zeros_like(where), group_size=2, temperature=1.0, scores=("js_zeros",)
    )
    # q = p / 2: (ln(4/3) + ln(2/3) / 2) / 2, whatever p
    assert len(set(tokens["js_zeros"][0, 1:].tolist())) == 1
    assert tokens["js_zeros"][0, 1].item() == pytest.approx((math.log(4 / 3) + math.log(2 / 3) / 2) / 2, abs=1e-6)
