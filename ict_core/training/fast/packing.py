"""Rollouts without padding: every distinct prefix of a batch once, as tokens of one long row."""

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ict_core.training.fast.on_gpu import Gathering

Ints = NDArray[np.int64]
_LENGTHS = 4  # parts into which sequences are sorted by length
_CELLS = 2**14  # of such a part on a GPU, about, where an operation costs more than its padding
_COMMON = 32  # tokens at the beginning of all sequences, from which on groups share them


@dataclass(frozen=True)
class Packed:
    """A layout of B sequences, each a prompt with the part of its response that is read.

    A decoder's state depends on the tokens up to it alone, so sequences that begin alike (the rollouts of a prompt do)
    share the states of that prefix: there is one of N tokens for each distinct prefix. Attention needs whole sequences:
    ``rows`` gathers them, those of similar length together, without those of which nothing is read. On a CPU those that
    share their beginning with another stand apart, and are asked from where the first of them goes its own way.
    """

    ids: Tensor  # (N,), the tokens
    positions: Tensor  # (N,), of each in its sequence
    # for each of some lengths (B', L), which of the N tokens stands where, right-padded with 0; and from which position
    # on attention is asked for
    rows: list[tuple[Tensor, int]]
    cells: Tensor  # (N,), where each token first stands in `rows` from there on, all flattened one after the other
    where: Tensor  # (B, T), which of the N tokens predicts each response token; -1 where nothing is read
    gathering: Gathering | None = None  # for a GPU
    head_gradient: list[Tensor] = field(default_factory=list)  # a tied head's, until the embeddings' is added to it


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
    is ``read``, (B, T) bool. Rows of different ``groups``, (B,), share nothing, but where all sequences begin with the
    same `_COMMON` tokens or more, as with worked examples. ``gpu``: whether the layout is for one, which is otherwise
    told by where the batch lies.

    Raises:
        ValueError: nothing is read.
    """
    wanted, prompt_lengths = read.cpu().numpy(), prompt_mask.sum(-1).cpu().numpy()
    last = wanted.shape[1] - wanted[:, ::-1].argmax(1)
    until = np.where(wanted.any(1), last, 0)  # response tokens up to the last that is read
    (kept,) = until.nonzero()
    if not len(kept):
        raise ValueError("no response token is read")
    ids = np.concatenate([prompt_ids.cpu().numpy(), completion_ids.cpu().numpy()], axis=1)[kept]
    starts, lengths = prompt_ids.size(1) - prompt_lengths[kept], (prompt_lengths + until - 1)[kept]
    columns = np.arange(lengths.max())
    tokens = np.take_along_axis(ids, np.minimum(starts[:, None] + columns, ids.shape[1] - 1), axis=1)
    tokens = np.where(columns < lengths[:, None], tokens, -1)  # from each row's first token on
    group = np.zeros(len(kept), dtype=np.int64) if groups is None else groups.cpu().numpy()[kept]
    if (tokens[:, :_COMMON] == tokens[0, :_COMMON]).all() and lengths.min() >= _COMMON:
        group[:] = 0

    # sorted by group, first token, second token, ...: every sequence stands below the one most like it
    order = np.lexsort(np.vstack([tokens.T[::-1], group]))
    tokens, group, row = tokens[order], group[order], kept[order]
    valid = tokens >= 0
    new = valid.copy()
    equal = (tokens[1:] == tokens[:-1]) & (group[1:] == group[:-1])[:, None]
    new[1:] &= ~np.logical_and.accumulate(equal, axis=1)
    numbers = np.where(new, new.cumsum().reshape(new.shape) - 1, -1)
    node = np.maximum.accumulate(numbers, axis=0)  # a cell that is not new has the number of the one above
    node[~valid] = 0

    where = np.full(wanted.shape, -1)
    i, t = wanted[row].nonzero()
    where[row[i], t] = node[i, prompt_lengths[row[i]] + t - 1]
    own = np.where(new.any(1), new.argmax(1), node.shape[1])  # from where a sequence is its own
    gpu = read.device.type != "cpu" if gpu is None else gpu
    rows, cells = _by_length(node, valid.sum(1), np.zeros_like(own) if gpu else own, _CELLS if gpu else 1)

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
    """The other fields of a :class:`Gathering`, from the cells of all tokens, the state of each, each state's first."""
    held = np.concatenate([part.ravel() for part, _ in rows])
    order = np.lexsort([cells, nodes])
    order = order[cells[order] != first[nodes[order]]]
    shared, counts = np.unique(nodes[order], return_counts=True)
    return held, shared, cells[order], counts


def _by_length(node: Ints, lengths: Ints, own: Ints, cells: int) -> tuple[list[tuple[Ints, int]], Ints]:
    """The rows of ``node`` in parts of similar length, and the place of every cell in all parts one after the other.

    A row that shares more than a quarter with one above it stands in other parts than one that does not. There are no
    more parts than it takes for each to have some ``cells``.
    """
    places, parts, start = np.zeros_like(node), [], 0
    branches = 4 * own > lengths
    for chosen in (~branches, branches & (own < lengths)):
        (of_kind,) = chosen.nonzero()
        order = of_kind[lengths[of_kind].argsort(kind="stable")]
        most = -(-len(order) * int(lengths[order].max(initial=1)) // cells)
        for rows in np.array_split(order, min(_LENGTHS, len(order), most)) if len(order) else ():
            first, last = int(own[rows].min()), lengths[rows].max()
            part = node[rows, :last]
            asked = len(rows), last - first
            places[rows, first:last] = start + np.arange(asked[0] * asked[1]).reshape(asked)
            parts.append((part, first))
            start += asked[0] * asked[1]
    return parts, places
