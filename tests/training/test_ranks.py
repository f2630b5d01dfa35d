"""How work and rows are shared out among ranks, without ranks."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ict_core.training._ranks import gathered_sums, own_rows, rounds


def rank_of(ranks: int, rank: int) -> SimpleNamespace:
    return SimpleNamespace(num_processes=ranks, process_index=rank, gather=lambda tensor: tensor)


@given(st.integers(1, 9), st.integers(1, 30))
def test_every_piece_counts_once_and_all_ranks_do_equally_many_rounds(ranks, pieces):
    shares = [rounds(rank_of(ranks, rank), pieces) for rank in range(ranks)]
    assert len({len(share) for share in shares}) == 1
    assert sorted(piece for share in shares for piece, counts in share if counts) == list(range(pieces))
    assert all(piece == 0 for share in shares for piece, counts in share if not counts)


def test_a_rank_takes_its_rows_at_the_width_of_its_own_batch():
    whole = torch.arange(24).view(6, 4)
    own = own_rows(rank_of(3, 1), whole, like=torch.zeros(2, 3))
    assert own.tolist() == [[8, 9, 10], [12, 13, 14]]
    assert own_rows(rank_of(3, 2), torch.arange(6), like=torch.zeros(2, 3)).tolist() == [4, 5]


def test_sums_are_those_of_the_elements():
    losses, marks = torch.tensor([1.5, 2.5]), torch.tensor([True, False, True])
    assert gathered_sums(rank_of(1, 0), [losses, marks]).tolist() == [[4.0, 2.0], [2.0, 3.0]]
    both = SimpleNamespace(gather=lambda tensor: torch.cat([tensor, tensor + 1]))
    assert gathered_sums(both, [losses]).tolist() == [[pytest.approx(9.0), 5.0]]
