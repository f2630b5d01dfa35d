"""Functions of next-token distributions: pure, batched over every leading axis, in nats.

Notation of ICT (arXiv:2606.19771): H1 is the Shannon entropy, H2 = -ln(sum p^2) the second-order Renyi entropy,
u the Jensen-Shannon divergence of one rollout's distribution to the mean of its group's at the same position.
"""

import math

import torch
from torch import Tensor

JS_RESOLUTION = 1e-6
"""Divergences below this (nats) are rounding of float32 and count as zero, so that ties are ties."""


def shannon_entropy(log_probs: Tensor) -> Tensor:
    """H1 = -sum p ln p. ``log_probs`` (..., V) -> (...). A log-probability of -inf contributes 0."""
    return torch.special.entr(log_probs.exp()).sum(-1)


def renyi2_entropy(log_probs: Tensor) -> Tensor:
    """H2 = -ln sum p^2. ``log_probs`` (..., V) -> (...)."""
    return -torch.logsumexp(2 * log_probs, dim=-1)


def group_divergence(log_probs: Tensor, live: Tensor) -> Tensor:
    """u = JS(p_i, P_avg) with P_avg the mean over the live rollouts of a group at one position.

    u = H1((p + q) / 2) - (H1(p) + H1(q)) / 2 with q = P_avg, so 0 <= u <= ln 2; zero where a rollout is not live.

    Args:
        log_probs: (..., G, V), the distributions of a group's G rollouts at one position.
        live: (..., G), True where the rollout still generates.

    Returns:
        (..., G), nats.
    """
    probs = log_probs.exp() * live.unsqueeze(-1)
    mean = probs.sum(-2, keepdim=True) / live.sum(-1).clamp(min=1)[..., None, None]
    middle = torch.special.entr((probs + mean) / 2).sum(-1)
    u = middle - (torch.special.entr(probs).sum(-1) + torch.special.entr(mean).sum(-1)) / 2
    return u.masked_fill(~live | (u < JS_RESOLUTION), 0.0).clamp(max=math.log(2))
