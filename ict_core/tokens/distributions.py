"""Functions of next-token distributions: pure, batched over every leading axis, in nats unless they say otherwise.

Notation of ICT (arXiv:2606.19771): H1 is the Shannon entropy, H2 = -ln(sum p^2) the second-order Renyi entropy, q the
reference distribution that a divergence compares p with.
"""

import math

import torch
from torch import Tensor

# a smaller divergence (Wasserstein: times V) is float32 rounding and counts as zero, so that ties stay ties
SMALLEST_DIVERGENCE = 1e-6


def shannon_entropy(log_probs: Tensor) -> Tensor:
    """H1 = -sum p ln p. ``log_probs`` (..., V) -> (...). A log-probability of -inf contributes 0."""
    return torch.special.entr(log_probs.exp()).sum(-1)


def renyi2_entropy(log_probs: Tensor) -> Tensor:
    """H2 = -ln sum p^2. ``log_probs`` (..., V) -> (...)."""
    return -torch.logsumexp(2 * log_probs, dim=-1)


def jensen_shannon(p: Tensor, q: Tensor) -> Tensor:
    """JS(p, q) = H1((p + q) / 2) - (H1(p) + H1(q)) / 2, so 0 <= JS <= ln 2; ``p``, ``q`` (..., V) -> (...)."""
    middle = torch.special.entr((p + q) / 2).sum(-1)
    return middle - (torch.special.entr(p).sum(-1) + torch.special.entr(q).sum(-1)) / 2


def kullback_leibler(p: Tensor, q: Tensor) -> Tensor:
    """KL(p || q) = sum p ln(p / q); at most ln n where q is the mean of n distributions and p one of them.

    A mean of probabilities so small that float32 holds them inexactly may underflow to 0. Such a term, p ln(p / q) <=
    p ln n, is below the resolution of any sum and counts as 0; a larger p where q is 0 makes KL infinite.
    """
    terms = torch.xlogy(p, p) - torch.xlogy(p, q)
    return terms.masked_fill((q == 0) & (p < torch.finfo(p.dtype).tiny), 0.0).sum(-1)


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """sum |p - q| / 2, a share: 0 to 1."""
    return (p - q).abs().sum(-1) / 2


def wasserstein(p: Tensor, q: Tensor) -> Tensor:
    """The 1-Wasserstein distance over token indices, sum_v |P(v) - Q(v)| of the distribution functions, in indices."""
    return (p - q).cumsum(-1).abs().sum(-1)


DIVERGENCES = {"js": jensen_shannon, "kl": kullback_leibler, "tv": total_variation, "wasserstein": wasserstein}


def position_mean(probs: Tensor, live: Tensor) -> Tensor:
    """P_avg, the mean over the live rollouts of a group at one position (method of ICT), (..., 1, V).

    ``probs`` (..., G, V) is zero where a rollout is not live, ``live`` (..., G) True where it still generates.
    """
    return probs.sum(-2, keepdim=True) / live.sum(-1).clamp(min=1)[..., None, None]


def whole_group_mean(probs: Tensor, live: Tensor, *, uniform: bool) -> Tensor:
    """(1 / G) sum over all G rollouts, (..., 1, V), of ``probs`` and ``live`` as :func:`position_mean` has them.

    The formula taken literally: a rollout that has ended adds zeros. So the sum over V is the share of live rollouts,
    and JS stays in [0, ln 2]. With ``uniform`` it adds the softmax of all-zero logits, which veRL's ``pad_input``
    leaves at padded positions where padding was removed. verl itself uses it to pad ln p and the entropy, never logits
    (volcengine/verl, ``workers/actor/dp_actor.py``, ``_forward_micro_batch``). Where padding is not removed, the
    model's output after the end counts, which takes a pass over padded tokens.
    """
    mean = probs.mean(-2, keepdim=True)
    if uniform:
        mean = mean + (1 - live.to(probs.dtype).mean(-1))[..., None, None] / probs.size(-1)
    return mean


def alone_with_zeros(size: int) -> float:
    """JS of p and p / size, nats, whatever p: of a rollout alone at a position and :func:`whole_group_mean` there."""
    share = (1 + 1 / size) / 2
    return -share * math.log(share) - math.log(size) / (2 * size)


def leave_one_out_mean(probs: Tensor, live: Tensor) -> Tensor:
    """The mean over the other live rollouts, (..., G, V); where a rollout is the only one, its own distribution."""
    count = live.sum(-1)[..., None, None]
    others = (probs.sum(-2, keepdim=True) - probs).clamp(min=0) / (count - 1).clamp(min=1)
    return torch.where(count > 1, others, probs)
