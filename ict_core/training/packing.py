"""Rollouts without padding: every distinct prefix of a batch once, as tokens of one long row."""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

_LENGTHS = 4  # parts into which sequences are sorted by length


@dataclass(frozen=True)
class Packed:
    """A layout of B sequences, each a prompt with the part of its response that is read.

    A decoder's state depends on the tokens up to it alone, so sequences that begin alike (the rollouts of a prompt do)
    share the states of that prefix. Attention sees whole sequences again: :attr:`rows` gathers them, those of similar
    length together.

    Attributes:
        ids: (N,), the tokens, one for each distinct prefix.
        positions: (N,), of each in its sequence.
        rows: for each of some lengths (B', L), which of the N tokens stands where; right-padded with 0. Sequences of
            which nothing is read are left out.
        cells: (N,), where each token first stands in ``rows``, all flattened one after the other.
        where: (B, T), which of the N tokens predicts each response token; -1 where nothing is read.
        head_gradient: where a head that shares the embeddings' weights leaves its gradient until theirs is added to it.
    """

    ids: Tensor
    positions: Tensor
    rows: list[Tensor]
    cells: Tensor
    where: Tensor
    head_gradient: list[Tensor] = field(default_factory=list)


def pack(
    prompt_ids: Tensor,
    prompt_mask: Tensor,
    completion_ids: Tensor,
    read: Tensor,
    *,
    groups: Tensor | None = None,
    share: bool = True,
) -> Packed:
    """Lay out a batch for the predictions of some of its response tokens.

    Args:
        prompt_ids, prompt_mask: (B, P), padded on the left.
        completion_ids: (B, T), padded on the right.
        read: (B, T) bool, the response tokens whose predictions are wanted; a sequence ends before the last of them.
        groups: (B,), rows of different groups then share nothing.
        share: whether equal prefixes are computed once; if not, each sequence has all of its own.

    Raises:
        ValueError: nothing is read.
    """
    device = read.device
    wanted = read.cpu().numpy()
    prompt_lengths = prompt_mask.sum(-1).cpu().numpy()
    last = wanted.shape[1] - wanted[:, ::-1].argmax(1)
    until = np.where(wanted.any(1), last, 0)  # response tokens up to the last that is read
    (kept,) = until.nonzero()
    if not len(kept):
        raise ValueError("no response token is read")
    lengths = (prompt_lengths + until - 1)[kept]
    tokens = np.concatenate([prompt_ids.cpu().numpy(), completion_ids.cpu().numpy()], axis=1)[kept]
    columns = np.arange(lengths.max())
    first = prompt_ids.size(1) - prompt_lengths[kept, None]
    valid = columns < lengths[:, None]
    tokens = np.where(valid, np.take_along_axis(tokens, np.minimum(first + columns, tokens.shape[1] - 1), axis=1), -1)
    group = np.zeros(len(kept), dtype=np.int64) if groups is None else groups.cpu().numpy()[kept]

    # sorted, every sequence stands below the one with which it has most in common
    order = np.lexsort((*tokens.T[::-1], group))  # by group, then by the first token, the second, ...
    tokens, valid, group, lengths, row = tokens[order], valid[order], group[order], lengths[order], kept[order]
    new = valid.copy()
    if share:
        equal = (tokens[1:] == tokens[:-1]) & (group[1:] == group[:-1])[:, None]
        new[1:] &= ~np.logical_and.accumulate(equal, axis=1)
    firsts = np.flatnonzero(new)
    numbers = np.full(new.shape, -1)
    numbers.ravel()[firsts] = np.arange(len(firsts))
    node = np.maximum.accumulate(numbers, axis=0)  # a cell that is not new has the number of the one above
    node[~valid] = 0

    where = np.full(wanted.shape, -1)
    i, t = wanted[row].nonzero()
    where[row[i], t] = node[i, prompt_lengths[row[i]] + t - 1]

    cell_of, rows, start = np.empty(new.shape, dtype=np.int64), [], 0
    for part in np.array_split(lengths.argsort(kind="stable"), min(_LENGTHS, len(lengths))):
        longest = lengths[part].max()
        rows.append(node[part, :longest])
        cell_of[part, :longest] = start + np.arange(rows[-1].size).reshape(rows[-1].shape)
        start += rows[-1].size

    def tensor(values: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(device)

    return Packed(
        ids=tensor(tokens.ravel()[firsts]),
        positions=tensor(firsts % len(columns)),
        rows=[tensor(part) for part in rows],
        cells=tensor(cell_of.ravel()[firsts]),
        where=tensor(where),
    )
