"""Token statistics of whole groups, streamed over the LM head so that G x T x V is never held."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ict_core.tokens.distributions import group_divergence, renyi2_entropy, shannon_entropy

_MOST_PROBABILITIES = 2**27  # half a GiB in float32; some five tensors of that size are held at a time


@dataclass(frozen=True)
class TokenStatistics:
    """What a selection rule may know of each response token under pi_old, each (B, T); zero outside the response.

    Attributes:
        logprob: ln p of the sampled token.
        h1: Shannon entropy, nats.
        h2: second-order Renyi entropy, nats.
        js: u, the divergence from the group's mean distribution at the position, nats (method specification, 3).
    """

    logprob: Tensor
    h1: Tensor
    h2: Tensor
    js: Tensor


@torch.no_grad()
def token_statistics(
    hidden: Tensor,
    head: Tensor,
    token_ids: Tensor,
    mask: Tensor,
    *,
    group_size: int,
    temperature: float,
    chunk: int | None = None,
) -> TokenStatistics:
    """Statistics of every response token, from the final hidden states.

    The LM head runs over ``chunk`` (group, position) pairs at a time, a pair holding all rollouts of its group, so
    the extra memory is O(chunk * G * V).

    Args:
        hidden: (B, T, D), the states that predict the response tokens; groups are ``group_size`` consecutive rows.
        head: (V, D), the LM head's weight.
        token_ids: (B, T), the sampled tokens.
        mask: (B, T), True at response tokens.
        group_size: G.
        temperature: the sampling temperature; all policies are read at it.
        chunk: pairs in one product; by default up to 256, and fewer where that would be more than 2^27 probabilities.

    Raises:
        ValueError: B is not a multiple of ``group_size``.
    """
    rows, length, width = hidden.shape
    if rows % group_size:
        raise ValueError(f"{rows} rollouts are not whole groups of {group_size}")

    if chunk is None:
        chunk = min(256, max(1, _MOST_PROBABILITIES // (group_size * head.size(0))))

    def by_pair(x: Tensor) -> Tensor:  # (B, T, ...) -> (groups * T, G, ...)
        return x.view(rows // group_size, group_size, length, *x.shape[2:]).transpose(1, 2).flatten(0, 1)

    states, ids, live = by_pair(hidden), by_pair(token_ids), by_pair(mask.bool())
    pairs = live.any(-1).nonzero().squeeze(-1)
    result = torch.zeros(4, *live.shape, dtype=torch.float32, device=hidden.device)
    for some in pairs.split(chunk):
        log_probs = torch.log_softmax((states[some] @ head.T).float() / temperature, dim=-1)
        result[0, some] = log_probs.gather(-1, ids[some].unsqueeze(-1)).squeeze(-1)
        result[1, some] = shannon_entropy(log_probs)
        result[2, some] = renyi2_entropy(log_probs)
        result[3, some] = group_divergence(log_probs, live[some])
    result *= live
    back = result.view(4, rows // group_size, length, group_size).transpose(2, 3).reshape(4, rows, length)
    return TokenStatistics(*back.unbind(0))
