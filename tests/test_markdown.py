"""The one writer of Markdown tables."""

from ict_core.markdown import markdown_table


def test_sides_and_cells_stand_as_given():
    text = markdown_table(["a", "n", "free"], [("x", 1, ""), ("True ", "1e5", " y")], "lr-")
    assert text == "| a | n | free |\n| :-- | --: | --- |\n| x | 1 |  |\n| True  | 1e5 |  y |\n"
    assert markdown_table(["a", "b"], []) == "| a | b |\n| :-- | :-- |\n"


def test_nothing_in_a_cell_breaks_the_table():
    assert markdown_table(["a|b"], [("x|y\nz",)]).splitlines() == ["| a\\|b |", "| :-- |", "| x\\|y z |"]


def test_columns_are_filled_up_for_a_terminal():
    lines = markdown_table(["rule", "n"], [("a", 10), ("longer", 2)], "lr", padded=True).splitlines()
    assert lines == ["| rule   |   n |", "|:-------|----:|", "| a      |  10 |", "| longer |   2 |"]
