"""The streamed statistics against statistics of the full logits in float64."""

import pytest
import torch

from ict_core.tokens.distributions import group_divergence, renyi2_entropy, shannon_entropy
from ict_core.tokens.streaming import token_statistics


def random_case(rows: int, length: int, width: int, vocabulary: int):
    g = torch.Generator().manual_seed(0)
    hidden = torch.randn(rows, length, width, generator=g)
    head = torch.randn(vocabulary, width, generator=g)
    ids = torch.randint(vocabulary, (rows, length), generator=g)
    lengths = torch.randint(1, length + 1, (rows,), generator=g)
    return hidden, head, ids, torch.arange(length) < lengths[:, None]


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_chunks_change_nothing(chunk):
    hidden, head, ids, mask = random_case(6, 13, 8, 50)
    tokens = token_statistics(hidden, head, ids, mask, group_size=3, temperature=0.7, chunk=chunk)
    log_probs = torch.log_softmax(hidden.double() @ head.double().T / 0.7, -1)
    by_group = log_probs.view(2, 3, 13, 50).transpose(1, 2)
    live = mask.view(2, 3, 13).transpose(1, 2)
    js = group_divergence(by_group, live).transpose(1, 2).reshape(6, 13)
    logprob = log_probs.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    for found, expected in [
        (tokens.logprob, logprob),
        (tokens.h1, shannon_entropy(log_probs)),
        (tokens.h2, renyi2_entropy(log_probs)),
        (tokens.js, js),
    ]:
        torch.testing.assert_close(found.double(), expected * mask, atol=1e-5, rtol=1e-5)


def test_a_shared_prefix_has_no_divergence():
    hidden, head, ids, _ = random_case(4, 5, 8, 20)
    hidden[:, :2] = hidden[0, :2]
    mask = torch.ones(4, 5, dtype=torch.bool)
    tokens = token_statistics(hidden, head, ids, mask, group_size=4, temperature=1.0)
    assert (tokens.js[:, :2] == 0).all()
    assert (tokens.js[:, 2:] > 0).all()


def test_part_of_a_group_is_refused():
    hidden, head, ids, mask = random_case(5, 4, 8, 20)
    with pytest.raises(ValueError, match="5 rollouts are not whole groups of 2"):
        token_statistics(hidden, head, ids, mask, group_size=2, temperature=1.0)
