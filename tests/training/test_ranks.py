"""How work is shared out among ranks, without ranks."""

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from ict_core.training.ranks import rounds


def rank_of(ranks: int, rank: int) -> SimpleNamespace:
    return SimpleNamespace(num_processes=ranks, process_index=rank)


@given(st.integers(1, 9), st.integers(1, 30))
def test_every_piece_counts_once_and_all_ranks_do_equally_many_rounds(ranks, pieces):
    shares = [rounds(rank_of(ranks, rank), pieces) for rank in range(ranks)]
    assert len({len(share) for share in shares}) == 1
    assert sorted(piece for share in shares for piece, counts in share if counts) == list(range(pieces))
    assert all(piece == 0 for share in shares for piece, counts in share if not counts)
