"""GTPO's conflict tokens, with which right and wrong answers of a group begin or end alike (arXiv:2508.03772).

Code: winstonsmith1897/GTPO.
"""

import torch
from torch import Tensor

from ict_core.selection.base import TokenBatch


def conflict(batch: TokenBatch, generator: torch.Generator, *, positive: float) -> Tensor:
    """w = ``positive`` (A > 0) or 0 (A < 0) at conflict tokens and 1 at others, divided by the number of the former.

    A conflict token is at the same position of a response with A > 0 and of one with A < 0 in its group, counted from
    the first token or from the last, and all tokens before (or behind) it are conflict tokens. A token that is both has
    the product of both weights. The divisor counts each conflict token of the response once and is at least 1.
    The authors' code counts max(forward, backward), as it unites the two runs in opposite orders.
    """
    if batch.token_ids is None:
        raise ValueError("conflict tokens need the batch's token ids")
    mask, length = batch.mask, batch.mask.size(1)
    groups = (-1, batch.statistics.group_size, length)
    signs = batch.advantages.sign().view(groups[:2])
    # indices that reverse each response; used twice, they restore it
    last = mask.sum(-1, keepdim=True) - 1
    turned = (last - torch.arange(length, device=mask.device)).clamp(min=0)
    in_groups = mask.view(groups)
    forward = _runs(batch.token_ids.view(groups), in_groups, signs).view_as(mask)
    backward = _runs(batch.token_ids.gather(1, turned).view(groups), in_groups, signs).view_as(mask)
    backward = backward.gather(1, turned) & mask
    factor = torch.where(batch.advantages > 0, positive, 0.0).unsqueeze(-1)
    ones = torch.ones_like(factor)
    weights = torch.where(forward, factor, ones) * torch.where(backward, factor, ones)
    counts = (forward | backward).sum(-1, keepdim=True).clamp(min=1)
    return weights / counts * mask


def _runs(ids: Tensor, mask: Tensor, signs: Tensor) -> Tensor:
    """The unbroken run of conflict tokens from the start of each response, (P, G, T) bool.

    ``ids`` and ``mask`` are (P, G, T); ``signs``, (P, G), are the signs of the advantages.
    """
    equal = (ids.unsqueeze(2) == ids.unsqueeze(1)) & mask.unsqueeze(1)  # (P, G, others of the group, T)
    met = [(equal & (signs == sign)[:, None, :, None]).any(2) for sign in (1, -1)]
    active = mask & (signs != 0).unsqueeze(-1)
    return (met[0] & met[1] & active).int().cumprod(-1).bool()
