"""Gathers the whole sequences of a packed pass on a GPU, in few operations and with no sort in the backward pass.

The backward pass of torch's own gathers sorts all indices at every layer. Here the layout has sorted them once.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Gathering:
    """The state, of N, in each of C cells; the cells are those of all rows of a layout, one after the other."""

    first: Tensor  # (N,), the first cell of each state
    cells: Tensor  # (C,), the state in each cell; 0 in padding
    shared: Tensor  # (S,), the states that are in further cells too
    further: Tensor  # (F,), these cells, in the order of `shared`
    counts: Tensor  # (S,), how many of them each has


class Gather(torch.autograd.Function):
    """States, (N, W), copied to the cells, (C, W). The gradients of a state's cells are summed in float32, in order."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, gathering: Gathering) -> Tensor:
        ctx.gathering = gathering
        return states[gathering.cells]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        by_cell, layout = gradients[0], ctx.gathering
        gradient = by_cell[layout.first]
        if len(layout.shared):
            further = torch.segment_reduce(by_cell[layout.further].float(), "sum", lengths=layout.counts, unsafe=True)
            gradient.index_copy_(0, layout.shared, (gradient[layout.shared] + further).to(gradient.dtype))
        return gradient, None


class FirstCells(torch.autograd.Function):
    """The values in the first cell of each state, (N, ...), from the values in all cells, (C, ...)."""

    @staticmethod
    def forward(ctx: Any, by_cell: Tensor, gathering: Gathering) -> Tensor:
        ctx.gathering = gathering
        return by_cell[gathering.first]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        layout, gradient = ctx.gathering, gradients[0]
        by_cell = gradient.new_zeros(len(layout.cells), *gradient.shape[1:])
        return by_cell.index_copy_(0, layout.first, gradient), None
