"""How a packed pass finds its whole sequences on a GPU: in few operations, and with no sort in the backward pass.

torch's own gathers send gradients back by a sort of all indices, at every layer. Here the layout has sorted them once.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Gathering:
    """Which of N states stands in each of C cells: those of all rows of a layout, one after the other."""

    first: Tensor  # (N,), the first cell of each state
    cells: Tensor  # (C,), the state in each cell; 0 in padding
    shared: Tensor  # (S,), the states that stand in further cells
    further: Tensor  # (F,), these cells, in the order of `shared`
    counts: Tensor  # (S,), how many of them each has


class Gather(torch.autograd.Function):
    """(N, W) states in the cells, (C, W). What comes back to the cells of a state is summed in float32, in order."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, gathering: Gathering) -> Tensor:
        ctx.gathering = gathering
        return states[gathering.cells]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        by_cell, at = gradients[0], ctx.gathering
        found = by_cell[at.first]
        if len(at.shared):
            further = torch.segment_reduce(by_cell[at.further].float(), "sum", lengths=at.counts, unsafe=True)
            found.index_copy_(0, at.shared, (found[at.shared] + further).to(found.dtype))
        return found, None


class FirstCells(torch.autograd.Function):
    """What stands in the first cell of each state, (N, ...), of what stands in all, (C, ...)."""

    @staticmethod
    def forward(ctx: Any, by_cell: Tensor, gathering: Gathering) -> Tensor:
        ctx.gathering = gathering
        return by_cell[gathering.first]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        at, gradient = ctx.gathering, gradients[0]
        by_cell = gradient.new_zeros(len(at.cells), *gradient.shape[1:])
        return by_cell.index_copy_(0, at.first, gradient), None
