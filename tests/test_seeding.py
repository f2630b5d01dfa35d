"""Streams are separate and fixed."""

from hypothesis import given
from hypothesis import strategies as st

from ict_core.seeding import derive_seed, generator


def test_a_derived_seed_never_changes_between_versions():
    assert derive_seed(0, "rollout", 0) == 2077529663
    assert derive_seed(1, "evaluation", "mini-word", "mini-word-0001", 3) == 549284895


@given(seed=st.integers(0, 2**31 - 1), index=st.integers(0, 10**6))
def test_purpose_seed_and_index_each_matter(seed, index):
    own = derive_seed(seed, "rollout", index)
    assert 0 <= own < 2**31
    assert len({own, derive_seed(seed, "selection", index), derive_seed(seed, "rollout", index + 1)}) == 3
    assert derive_seed(seed, "rollout", index) == own


def test_an_index_is_no_text_of_the_same_look():
    assert derive_seed(0, "x", 1) != derive_seed(0, "x", "1")


def test_generators_repeat():
    assert generator(1, "x").random() == generator(1, "x").random()
