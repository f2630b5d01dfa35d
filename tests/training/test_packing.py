"""The layout of packed rollouts, against prefixes counted one by one."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ict_core.training.fast.packing import pack


@st.composite
def batches(draw):
    """Prompts and responses of few tokens, so that many begin alike, and the response tokens that are read."""
    rows = draw(st.integers(1, 6))
    row = st.tuples(
        st.lists(st.integers(0, 2), min_size=1, max_size=3), st.lists(st.integers(0, 2), min_size=1, max_size=5)
    )
    examples = [3] * draw(st.sampled_from([0, 31, 32]))  # before every prompt
    sequences = [(examples + own, response) for own, response in draw(st.lists(row, min_size=rows, max_size=rows))]
    read = [[draw(st.booleans()) for _ in response] for _, response in sequences]
    groups = draw(st.none() | st.lists(st.integers(0, 1), min_size=rows, max_size=rows))
    return sequences, read, groups


def padded(rows, left=False):
    longest = max(map(len, rows))
    fill = [[9] * (longest - len(row)) for row in rows]
    return torch.tensor([f + list(row) if left else list(row) + f for f, row in zip(fill, rows, strict=True)])


@given(batches())
def test_every_distinct_prefix_once_and_every_sequence_whole(batch):
    sequences, wanted, groups = batch
    prompts = padded([prompt for prompt, _ in sequences], left=True)
    prompt_mask = padded([[1] * len(prompt) for prompt, _ in sequences], left=True) == 1
    completions = padded([response for _, response in sequences])
    read = padded(wanted) == 1
    arguments = (prompts * prompt_mask, prompt_mask.long(), completions, read)
    if not read.any():
        with pytest.raises(ValueError, match="no response token"):
            pack(*arguments)
        return
    layout = pack(*arguments, groups=None if groups is None else torch.tensor(groups))

    prefixes = set()  # of what is read, with whose they are
    last = [max((t for t, on in enumerate(row) if on), default=None) for row in wanted]
    cut = [[] if t is None else (p + r)[: len(p) + t] for (p, r), t in zip(sequences, last, strict=True)]
    common = len({tuple(sequence[:32]) for sequence in cut if sequence}) == 1 and min(map(len, filter(None, cut))) >= 32
    for i, (prompt, response) in enumerate(sequences):
        places = [t for t, on in enumerate(wanted[i]) if on]
        whose = 0 if common else (groups or [0] * len(sequences))[i]
        sequence = cut[i]
        prefixes |= {(whose, *sequence[: n + 1]) for n in range(len(sequence))}
        for t in range(completions.size(1)):
            node = layout.where[i, t].item()
            assert (node >= 0) == (t in places)
            if t in places:
                assert layout.ids[node] == (prompt + response)[len(prompt) + t - 1]
                assert layout.positions[node] == len(prompt) + t - 1
                assert prefix_of(layout, node) == (prompt + response)[: len(prompt) + t]
    assert len(layout.ids) == len(prefixes)

    layout = pack(*arguments, groups=None if groups is None else torch.tensor(groups), gpu=True)
    cells, gathering = [c for rows, _ in layout.rows for c in rows.flatten().tolist()], layout.gathering
    assert gathering.cells.tolist() == cells and gathering.first.equal(layout.cells)
    further = dict(zip(gathering.shared.tolist(), gathering.further.split(gathering.counts.tolist()), strict=True))
    held = [layout.cells[node].item() for node in range(len(layout.ids))]
    for node, others in further.items():
        assert [cells[cell] for cell in others] == [node] * len(others)
        held += others.tolist()
    assert len(held) == len(set(held)) == sum(map(len, cut))


def prefix_of(layout, node):
    """The tokens up to a packed one, as attention finds them."""
    cell = layout.cells[node].item()
    for rows, start in layout.rows:
        asked = rows[:, start:]
        if cell < asked.numel():
            row, place = divmod(cell, asked.size(1))
            assert asked[row, place] == node
            return layout.ids[rows[row, : start + place + 1]].tolist()
        cell -= asked.numel()
    raise AssertionError("a cell beyond all rows")
