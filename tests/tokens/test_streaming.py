"""The streamed statistics against statistics of the full logits in float64."""

import math

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import logsumexp

from ict_core.store import records
from ict_core.store.token_scores import GROUP_SCORES, POLICY_STATISTICS, STATISTICS, UNSAMPLED_SCORES, score_name
from ict_core.tokens.distributions import DIVERGENCES, renyi2_entropy, shannon_entropy
from ict_core.tokens.streaming import Head, TiledSoftmax, states_at_once, token_statistics

VOCABULARY = 2500  # two tiles and a part of one
SCORES = GROUP_SCORES | UNSAMPLED_SCORES


def random_case(rows: int, length: int, vocabulary: int = VOCABULARY):
    """States, head, where and token ids; lengths differ, so that some positions have one live rollout."""
    g = torch.Generator().manual_seed(0)
    states = torch.randn(rows * length, 8, generator=g)
    head = torch.randn(vocabulary, 8, generator=g)
    ids = torch.randint(vocabulary, (rows, length), generator=g)
    lengths = torch.randint(1, length + 1, (rows,), generator=g)
    where = torch.randperm(rows * length, generator=g).view(rows, length)
    return states, head, where.masked_fill(torch.arange(length) >= lengths[:, None], -1), ids


def full(states, head, where, ids, temperature: float = 1.0) -> tuple[torch.Tensor, ...]:
    """Log-probabilities (B, T, V) and those of the sampled tokens, H1 and H2, in float64."""
    log_probs = torch.log_softmax(states.double()[where] @ head.double().T / temperature, -1)
    sampled = log_probs.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    return log_probs, sampled, shannon_entropy(log_probs), renyi2_entropy(log_probs)


def reference(name: str, probs: torch.Tensor, mask: torch.Tensor, row: int, position: int) -> torch.Tensor:
    """The distribution that one token of a group of three is compared with, by definition."""
    group = range(row // 3 * 3, row // 3 * 3 + 3)
    if name == "sequence":
        return probs[row][mask[row]].mean(0)
    if name == "group":
        return torch.cat([probs[i][mask[i]] for i in group]).mean(0)
    if name.startswith("position-"):
        ended = torch.full_like(probs[0, 0], 1 / probs.size(-1) if name == "position-uniform" else 0.0)
        return sum(probs[i, position] if mask[i, position] else ended for i in group) / 3
    others = [i for i in group if mask[i, position] and (name == "position" or i != row)]
    return probs[others or [row], position].mean(0)


@pytest.mark.parametrize("chunk", [1, 7, None])
@pytest.mark.parametrize("shared", [False, True])
def test_every_statistic_is_that_of_the_full_distributions(chunk, shared, monkeypatch):
    if chunk is not None:  # also few probabilities at once: those of two pairs
        monkeypatch.setattr("ict_core.tokens.streaming.states_at_once", lambda head: chunk)
        monkeypatch.setattr("ict_core.tokens.streaming._PROBABILITIES_AT_ONCE", 6 * VOCABULARY)
    states, head, where, ids = random_case(6, 9)
    if shared:  # a prefix of the first group, a part of one in the second, and rows in which two of three agree
        where[:3, :2], where[3:5, 0], where[4:, 2] = where[0, :2], where[3, 0], where[4, 2]
    tokens = token_statistics(states, Head(head), where, ids, group_size=3, temperature=0.7, scores=tuple(SCORES))
    mask = where >= 0
    log_probs, *values = full(states, head, where, ids, 0.7)
    expected = dict(zip(("logprob", "h1", "h2"), values, strict=True))
    for name, (divergence, kind) in SCORES.items():
        expected[name] = torch.zeros(mask.shape, dtype=torch.float64)
        for row, position in mask.nonzero().tolist():
            q = reference(kind, log_probs.exp(), mask, row, position)
            expected[name][row, position] = DIVERGENCES[divergence](log_probs[row, position].exp(), q)
    for name, value in expected.items():
        found = tokens.score(name)
        least = 1e-3 if name == "wasserstein" else 1e-5  # of indices
        torch.testing.assert_close(found.double(), value * mask, atol=least, rtol=1e-6, msg=lambda m, n=name: n + m)
    torch.testing.assert_close(tokens.score("surprise"), (1 - tokens.logprob.exp()), atol=1e-6, rtol=0)
    assert (tokens["js"] <= math.log(2)).all()


def test_a_divergence_is_at_most_ln_2_and_no_small_one_is_lost():
    g = torch.Generator().manual_seed(0)
    z = 2 * torch.randn(8, VOCABULARY, generator=g)
    z[:4, : VOCABULARY // 2] -= 200  # two rollouts without a common token
    z[4:, VOCABULARY // 2 :] -= 200
    where, ids = torch.arange(8).view(2, 4), torch.zeros(2, 4, dtype=torch.int64)
    asked = {"group_size": 2, "temperature": 1.0, "scores": ("js", "js_leave_one_out", "kl")}
    apart = token_statistics(z, Head(torch.eye(VOCABULARY)), where, ids, **asked)
    assert (apart["js_leave_one_out"] == torch.tensor(math.log(2))).sum() >= 4
    assert (apart["js_leave_one_out"] <= torch.tensor(math.log(2))).all()
    z[4:] = z[:4] + 0.05 * torch.randn(4, VOCABULARY, generator=g)
    near = token_statistics(z, Head(torch.eye(VOCABULARY)), where, ids, **asked)
    for name in asked["scores"]:
        assert (near[name] > 1e-5).all() and (near[name] < 1e-3).all(), name


def test_a_product_has_the_states_that_its_memory_takes():
    on_cpu = {vocabulary: states_at_once(torch.empty(vocabulary, 1)) for vocabulary in (352, 49_152, 400_000, 2**26)}
    assert on_cpu == {352: 744, 49_152: 128, 400_000: 83, 2**26: 1}  # 2^18 / V, 128, 2^25 / V logits, one state
    elsewhere = torch.empty(150_000, 1, device="meta")
    assert states_at_once(elsewhere) == 894 and type(states_at_once(elsewhere)) is int  # 2^27 / V
    assert TiledSoftmax(Head(elsewhere), 894, 1.0, torch.bfloat16).vocabulary == 150_000


@pytest.mark.parametrize(
    ("scale", "softcap", "vocabulary"), [(0.5, None, VOCABULARY), (1.0, 3.0, VOCABULARY), (3.0, 1.5, 50)]
)
def test_a_head_with_a_scale_and_a_cap_has_the_statistics_of_its_own_logits(scale, softcap, vocabulary):
    states, weight, where, ids = random_case(6, 5, vocabulary)
    head = Head(weight, scale, softcap)
    tokens = token_statistics(states, head, where, ids, group_size=3, temperature=0.7)
    z = scale * states.double()[where] @ weight.double().T
    z = z if softcap is None else softcap * torch.tanh(z / softcap)
    log_probs, mask = torch.log_softmax(z / 0.7, -1), where >= 0
    torch.testing.assert_close(head.logits(states).double()[where], z, atol=1e-5, rtol=1e-5)
    sampled = log_probs.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    for found, value in ((tokens.logprob, sampled), (tokens.h1, shannon_entropy(log_probs)),
                         (tokens.h2, renyi2_entropy(log_probs))):  # fmt: skip
        torch.testing.assert_close(found.double(), value * mask, atol=1e-5, rtol=1e-6)


def test_each_score_has_one_name_from_the_methods_file_to_the_token_sample():
    named = {score_name(*group_score): name for name, group_score in SCORES.items()}
    assert named == {name: name for name in SCORES}
    assert score_name("h1", "position") == "h1"
    columns = list(records.TOKENS)
    assert columns[columns.index("logprob") : columns.index("advantage")] == list(STATISTICS)
    with pytest.raises(KeyError):
        score_name("kl", "sequence")


@pytest.mark.parametrize("copied", [False, True])
def test_a_shared_prefix_has_no_divergence(copied):
    states, head, _, ids = random_case(4, 5)
    where = torch.arange(20).view(4, 5)
    if copied:  # the same state four times
        states[where[:, :2]] = states[where[0, :2]]
    else:
        where[:, :2] = where[0, :2]
    tokens = token_statistics(states, Head(head), where, ids, group_size=4, temperature=1.0, scores=tuple(GROUP_SCORES))
    for name in ("js", "js_leave_one_out", "kl", "tv", "wasserstein"):
        assert (tokens[name][:, :2] == 0).all(), name
        assert (tokens[name][:, 2:] > 0).all(), name
    assert (tokens["js_sequence"] > 0).all()


def log_space(divergence: str, log_p: np.ndarray, log_q: np.ndarray) -> float:
    """A divergence from log-probabilities alone, in float64, so that nothing underflows."""
    p, q = np.exp(log_p), np.exp(log_q)
    if divergence == "kl":
        return float((p * (log_p - log_q)).sum())
    if divergence == "js":
        log_m = np.logaddexp(log_p, log_q) - math.log(2)
        return float((p * (log_p - log_m) + q * (log_q - log_m)).sum() / 2)
    return float(abs(p - q).sum() / 2 if divergence == "tv" else abs(np.cumsum(p - q)).sum())


def logits_within(most: float) -> st.SearchStrategy:
    """Logits of four rollouts at two positions, (4, 2, V)."""
    each = st.floats(-most, most, width=32)
    return st.integers(2, 9).flatmap(lambda v: arrays("float32", (4, 2, v), elements=each))


SMALLEST = np.float32([[[0, -103], [0, 0]], *[[[0, -200], [0, 0]]] * 3])  # a quarter of its exp(-103) underflows


@pytest.mark.slow
@settings(max_examples=40)
@given(logits=st.sampled_from([1e4, 150.0, 60.0]).flatmap(logits_within))
@example(logits=SMALLEST)
def test_every_score_is_finite_and_right_whatever_the_finite_logits(logits):
    vocabulary = logits.shape[-1]
    where, ids = torch.arange(8).view(4, 2), torch.zeros(4, 2, dtype=torch.int64)
    states, head = torch.from_numpy(logits).view(8, vocabulary), torch.eye(vocabulary)
    tokens = token_statistics(states, Head(head), where, ids, group_size=4, temperature=1.0, scores=tuple(SCORES))
    assert tokens.values.isfinite().all() and tokens.score("surprise").isfinite().all()

    log_p = logits.astype(np.float64) - logsumexp(logits.astype(np.float64), -1, keepdims=True)
    least = 1e-5 + 3e-7 * float(abs(logits).max())  # rounding of the logits, in float32
    for row, position in np.ndindex(4, 2):
        others = np.delete(log_p[:, position], row, 0)
        means = {
            **dict.fromkeys(
                ("position", "position-zeros", "position-uniform"), logsumexp(log_p[:, position], 0) - math.log(4)
            ),
            "leave-one-out": logsumexp(others, 0) - math.log(3),
            "sequence": logsumexp(log_p[row], 0) - math.log(2),
            "group": logsumexp(log_p.reshape(8, -1), 0) - math.log(8),
        }
        for name, (divergence, kind) in SCORES.items():
            wanted = log_space(divergence, log_p[row, position], means[kind])
            units = vocabulary if divergence == "wasserstein" else 1
            assert float(tokens[name][row, position]) == pytest.approx(wanted, abs=least * units), name
        own = log_p[row, position]
        assert float(tokens.h1[row, position]) == pytest.approx(-(np.exp(own) * own).sum(), abs=2 * least)
        assert float(tokens.h2[row, position]) == pytest.approx(-logsumexp(2 * own), abs=2 * least)
        assert float(tokens.logprob[row, position]) == pytest.approx(own[0], abs=2 * least)


@pytest.mark.parametrize(("autocast", "vocabulary"), [(False, VOCABULARY), (True, VOCABULARY), (True, 20)])
def test_half_precision_rounds_states_and_head_and_no_more(autocast, vocabulary):
    states, head, where, ids = random_case(4, 6, vocabulary)
    rounded, rounded_head = states.bfloat16(), head.bfloat16()
    expected = token_statistics(rounded.float(), Head(rounded_head.float()), where, ids, group_size=2, temperature=0.7)
    inputs = (states, Head(head)) if autocast else (rounded, Head(rounded_head))
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        found = token_statistics(*inputs, where, ids, group_size=2, temperature=0.7)
    torch.testing.assert_close(found.values, expected.values, atol=1e-6, rtol=1e-6)
    assert found.h1.dtype == torch.float32


def test_a_score_that_nobody_asked_for_is_not_there():
    states, head, where, ids = random_case(4, 5, 20)
    tokens = token_statistics(states, Head(head), where, ids, group_size=4, temperature=1.0)
    assert set(tokens.names) == {*POLICY_STATISTICS, "js"}
    with pytest.raises(KeyError):
        tokens.score("kl")
    none = token_statistics(states, Head(head), where, ids, group_size=4, temperature=1.0, scores=())
    torch.testing.assert_close(none.values, tokens.values[:3])


def test_part_of_a_group_is_refused():
    states, head, where, ids = random_case(5, 4, 20)
    with pytest.raises(ValueError, match="5 rollouts .* whole groups of 2"):
        token_statistics(states, Head(head), where, ids, group_size=2, temperature=1.0)
