"""The streamed statistics against statistics of the full logits in float64."""

import math

import pytest
import torch

from ict_core import records
from ict_core.tokens.distributions import DIVERGENCES, renyi2_entropy, shannon_entropy
from ict_core.tokens.streaming import SCORES, token_statistics


def random_case(rows: int, length: int, width: int, vocabulary: int):
    g = torch.Generator().manual_seed(0)
    hidden = torch.randn(rows, length, width, generator=g)
    head = torch.randn(vocabulary, width, generator=g)
    ids = torch.randint(vocabulary, (rows, length), generator=g)
    lengths = torch.randint(1, length + 1, (rows,), generator=g)
    return hidden, head, ids, torch.arange(length) < lengths[:, None]


def reference(name: str, probs: torch.Tensor, mask: torch.Tensor, row: int, position: int) -> torch.Tensor:
    """The distribution that one token of a group of three is compared with, by definition."""
    group = range(row // 3 * 3, row // 3 * 3 + 3)
    if name == "sequence":
        return probs[row][mask[row]].mean(0)
    if name == "group":
        return torch.cat([probs[i][mask[i]] for i in group]).mean(0)
    others = [i for i in group if mask[i, position] and (name == "position" or i != row)]
    return probs[others or [row], position].mean(0)


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_chunks_change_nothing(chunk):
    hidden, head, ids, mask = random_case(6, 13, 8, 50)
    tokens = token_statistics(hidden, head, ids, mask, group_size=3, temperature=0.7, scores=tuple(SCORES), chunk=chunk)
    log_probs = torch.log_softmax(hidden.double() @ head.double().T / 0.7, -1)
    expected = {
        "logprob": log_probs.gather(-1, ids.unsqueeze(-1)).squeeze(-1),
        "h1": shannon_entropy(log_probs),
        "h2": renyi2_entropy(log_probs),
    }
    for name, (divergence, kind) in SCORES.items():
        expected[name] = torch.zeros(6, 13, dtype=torch.float64)
        for row, position in mask.nonzero().tolist():
            q = reference(kind, log_probs.exp(), mask, row, position)
            expected[name][row, position] = DIVERGENCES[divergence](log_probs[row, position].exp(), q)
    for name, values in expected.items():
        found = tokens.logprob if name == "logprob" else tokens.score(name)
        torch.testing.assert_close(found.double(), values * mask, atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(tokens.score("surprise"), (1 - tokens.logprob.exp()), atol=1e-6, rtol=0)
    assert (tokens.scores["js"] <= math.log(2)).all()


def test_the_scores_are_those_of_the_token_sample():
    assert tuple(SCORES) == records.GROUP_SCORES


def test_a_shared_prefix_has_no_divergence():
    hidden, head, ids, _ = random_case(4, 5, 8, 20)
    hidden[:, :2] = hidden[0, :2]
    mask = torch.ones(4, 5, dtype=torch.bool)
    tokens = token_statistics(hidden, head, ids, mask, group_size=4, temperature=1.0, scores=tuple(SCORES))
    for name in ("js", "js_leave_one_out", "kl", "tv", "wasserstein"):
        assert (tokens.scores[name][:, :2] == 0).all(), name
        assert (tokens.scores[name][:, 2:] > 0).all(), name
    assert (tokens.scores["js_sequence"] > 0).all()


def test_a_score_that_nobody_asked_for_is_not_there():
    hidden, head, ids, mask = random_case(4, 5, 8, 20)
    tokens = token_statistics(hidden, head, ids, mask, group_size=4, temperature=1.0)
    assert set(tokens.scores) == {"js"}
    with pytest.raises(KeyError):
        tokens.score("kl")


def test_part_of_a_group_is_refused():
    hidden, head, ids, mask = random_case(5, 4, 8, 20)
    with pytest.raises(ValueError, match="5 rollouts are not whole groups of 2"):
        token_statistics(hidden, head, ids, mask, group_size=2, temperature=1.0)
