"""GTPO's conflict tokens: what right and wrong answers of a group begin or end with alike (arXiv:2508.03772).

Code: winstonsmith1897/GTPO.
"""

import torch
from torch import Tensor

from ict_core.selection._base import TokenBatch, register


@register("conflict")
def conflict(batch: TokenBatch, generator: torch.Generator, *, positive: float) -> Tensor:
    """w = ``positive`` (A > 0) or 0 (A < 0) at conflict tokens and 1 at others, over the number of conflict tokens.

    A conflict token stands at the same place in a response with A > 0 and in one with A < 0 of its group, counted from
    the first token or from the last, with conflict tokens alone before it or behind it. One that is both has the
    product of both weights. The number is that of the response's conflict tokens, at least 1, each counted once; the
    authors' code counts max(forward, backward), as it unites the two runs in opposite orders.
    """
    if batch.token_ids is None:
        raise ValueError("conflict tokens need the batch's token ids")
    mask, advantages = batch.mask, batch.advantages
    forward, backward = torch.zeros_like(mask), torch.zeros_like(mask)
    lengths = mask.sum(-1)
    for rows in torch.arange(len(mask)).split(batch.statistics.group_size):
        ids, signs = [batch.token_ids[row][mask[row]] for row in rows], advantages[rows]
        for number, row in enumerate(rows.tolist()):
            length = int(lengths[row])
            forward[row, :length] = _run(ids, signs, number)
            backward[row, :length] = _run([own.flip(0) for own in ids], signs, number).flip(0)
    of_conflict = torch.where(advantages > 0, positive, 0.0).unsqueeze(-1)
    one = torch.ones_like(of_conflict)
    weights = torch.where(forward, of_conflict, one) * torch.where(backward, of_conflict, one)
    counts = (forward | backward).sum(-1, keepdim=True).clamp(min=1)
    return weights / counts * mask


def _run(ids: list[Tensor], signs: Tensor, number: int) -> Tensor:
    """Of one response of a group the unbroken run of conflict tokens from its start, (T,) bool."""
    own = ids[number]
    run = torch.zeros_like(own, dtype=torch.bool)
    if signs[number] == 0:
        return run
    met = torch.zeros(2, len(own), dtype=torch.bool, device=own.device)
    for other, sign in zip(ids, signs.tolist(), strict=True):
        shared = min(len(own), len(other))
        if sign != 0:
            met[int(sign > 0), :shared] |= own[:shared] == other[:shared]
    return met.all(0).int().cumprod(0).bool()
