"""The tables of the contamination audit."""

import table_frames as made

from ict_core.tables.contamination import contamination_table
from ict_core.tables.near_duplicates import SHOWN, near_duplicates_table


def test_counts_stand_beside_their_share_in_the_studys_order():
    table = contamination_table(made.contamination(made.MIRRORS), made.settings())
    assert table.numbers["benchmark"].tolist() == list(made.MIRRORS)
    first = table.shown.iloc[0].to_dict()
    assert first == {
        "benchmark": "mini-word",
        "problems": "40",
        "repeated": "1 (2.5 %)",
        "exact": "0",
        "13-gram": "3 (7.5 %)",
        "too short": "2 (5.0 %)",
        "near-duplicate": "4 (10.0 %)",
        "same answer too": "1 (2.5 %)",
        "equal but for numbers": "39 (97.5 %)",
    }
    assert "one of the 2,000 training problems" in table.caption


def test_the_nearest_pairs_are_shown_and_all_are_kept():
    table = near_duplicates_table(made.near_duplicates(SHOWN + 2), made.settings())
    assert len(table.numbers) == SHOWN + 2 and len(table.shown) == SHOWN
    assert table.shown["similarity"].tolist()[:2] == ["1.000", "0.990"]
    assert f"{SHOWN + 2} pairs in the CSV" in table.caption


def test_no_pair_is_told():
    table = near_duplicates_table(made.near_duplicates(0), made.settings())
    assert table.shown.empty and table.caption.startswith("No evaluation question")
