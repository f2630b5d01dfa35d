"""A layout of rollouts without padding: every distinct prefix of a batch once, as tokens of one long row."""

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ict_core.training.fast.on_gpu import Gathering

Ints = NDArray[np.int64]
_LENGTHS = 4  # parts, at most, into which sequences of one kind are sorted by length
_CELLS = 2**14  # about so many in such a part on a GPU, where an operation costs more than its padding
_COMMON = 32  # groups share the beginning of all sequences if it has at least so many tokens


@dataclass(frozen=True)
class Packed:
    """A layout of B sequences, each a prompt with the part of its response that is read.

    A decoder's state depends only on the tokens up to it. So sequences that begin alike (the rollouts of a prompt do)
    share the states of that prefix: each distinct prefix has one of the N tokens. Attention needs whole sequences.
    ``rows`` gathers them in parts of similar length, without those of which nothing is read. On a CPU, sequences that
    share their beginning with another are in parts of their own, with attention from the first new token of the part.
    """

    ids: Tensor  # (N,), the tokens
    positions: Tensor  # (N,), of each token in its sequence
    # for each part, (B', L), which of the N tokens is at each position, right-padded with 0; and the position from
    # which on attention is computed
    rows: list[tuple[Tensor, int]]
    cells: Tensor  # (N,), each token's first cell in `rows` from these positions on, all parts flattened in order
    where: Tensor  # (B, T), which of the N tokens predicts each response token; -1 where nothing is read
    gathering: Gathering | None = None  # for a GPU
    head_gradient: list[Tensor] = field(default_factory=list)  # of a tied head, until the embeddings' gradient is added


def pack(
    prompt_ids: Tensor,
    prompt_mask: Tensor,
    completion_ids: Tensor,
    read: Tensor,
    *,
    groups: Tensor | None = None,
    gpu: bool | None = None,
) -> Packed:
    """Lay out a batch for the predictions of some of its response tokens.

    Prompts, (B, P), are padded on the left, responses, (B, T), on the right. A sequence ends before the last token that
    is ``read``, (B, T) bool. Rows of different ``groups``, (B,), share nothing, unless all sequences begin with the
    same `_COMMON` tokens or more, as with worked examples. ``gpu``: whether the layout is for a GPU; None: as the
    device of the batch says.

    Raises:
        ValueError: nothing is read.
    """
    is_read, prompt_lengths = read.cpu().numpy(), prompt_mask.sum(-1).cpu().numpy()
    last = is_read.shape[1] - is_read[:, ::-1].argmax(1)
    until = np.where(is_read.any(1), last, 0)  # response tokens up to the last that is read
    (kept,) = until.nonzero()
    if not len(kept):
        raise ValueError("no response token is read")
    ids = np.concatenate([prompt_ids.cpu().numpy(), completion_ids.cpu().numpy()], axis=1)[kept]
    starts, lengths = prompt_ids.size(1) - prompt_lengths[kept], (prompt_lengths + until - 1)[kept]
    columns = np.arange(lengths.max())
    tokens = np.take_along_axis(ids, np.minimum(starts[:, None] + columns, ids.shape[1] - 1), axis=1)
    tokens = np.where(columns < lengths[:, None], tokens, -1)  # starting with each row's first token
    group = np.zeros(len(kept), dtype=np.int64) if groups is None else groups.cpu().numpy()[kept]
    if (tokens[:, :_COMMON] == tokens[0, :_COMMON]).all() and lengths.min() >= _COMMON:
        group[:] = 0

    # sorted by group, first token, second token, ...: every sequence is below the one most like it
    order = np.lexsort(np.vstack([tokens.T[::-1], group]))
    tokens, group, row = tokens[order], group[order], kept[order]
    valid = tokens >= 0
    new = valid.copy()
    equal = (tokens[1:] == tokens[:-1]) & (group[1:] == group[:-1])[:, None]
    new[1:] &= ~np.logical_and.accumulate(equal, axis=1)
    numbers = np.where(new, new.cumsum().reshape(new.shape) - 1, -1)
    node = np.maximum.accumulate(numbers, axis=0)  # a cell that is not new has the number of the one above
    node[~valid] = 0

    where = np.full(is_read.shape, -1)
    i, t = is_read[row].nonzero()
    where[row[i], t] = node[i, prompt_lengths[row[i]] + t - 1]
    branch = np.where(new.any(1), new.argmax(1), node.shape[1])  # where a sequence departs from the one above
    gpu = read.device.type != "cpu" if gpu is None else gpu
    rows, cells = _by_length(node, valid.sum(1), np.zeros_like(branch) if gpu else branch, _CELLS if gpu else 1)

    def tensor(values: Ints) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(read.device)

    first, gathering = tensor(cells[new]), None
    if gpu:
        gathering = Gathering(first, *map(tensor, _gathering(rows, cells[valid], node[valid], cells[new])))
    return Packed(
        ids=tensor(tokens[new]),
        positions=tensor(new.nonzero()[1]),
        rows=[(tensor(part), start) for part, start in rows],
        cells=first,
        where=tensor(where),
        gathering=gathering,
    )


def _gathering(rows: list[tuple[Ints, int]], cells: Ints, nodes: Ints, first: Ints) -> tuple[Ints, ...]:
    """The other fields of a :class:`Gathering`, from the cells and states of all tokens and each state's first cell."""
    states = np.concatenate([part.ravel() for part, _ in rows])
    order = np.lexsort([cells, nodes])
    order = order[cells[order] != first[nodes[order]]]
    shared, counts = np.unique(nodes[order], return_counts=True)
    return states, shared, cells[order], counts


def _by_length(node: Ints, lengths: Ints, own: Ints, cells: int) -> tuple[list[tuple[Ints, int]], Ints]:
    """The rows of ``node`` in parts of similar length, and the index of every cell in all parts one after the other.

    A row that shares more than a quarter of its tokens with one above it is in other parts than a row that does not.
    There are no more parts than are needed for about ``cells`` cells in each.
    """
    places, parts, start = np.zeros_like(node), [], 0
    branches = 4 * own > lengths
    for chosen in (~branches, branches & (own < lengths)):
        (members,) = chosen.nonzero()
        order = members[lengths[members].argsort(kind="stable")]
        max_parts = -(-len(order) * int(lengths[order].max(initial=1)) // cells)
        for rows in np.array_split(order, min(_LENGTHS, len(order), max_parts)) if len(order) else ():
            first, last = int(own[rows].min()), lengths[rows].max()
            part = node[rows, :last]
            shape = len(rows), last - first
            places[rows, first:last] = start + np.arange(shape[0] * shape[1]).reshape(shape)
            parts.append((part, first))
            start += shape[0] * shape[1]
    return parts, places
