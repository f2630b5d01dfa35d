import pytest

from ict_core.errors import UserError
from ict_core.report import render
from ict_core.tables.build import TABLES

BLOCKS = {name: f"caption of {name}\n\n| a |\n| :-- |\n| {name} |\n" for name in TABLES}


def test_holds_every_table_and_figure_in_order():
    text = render("mini", "", BLOCKS, {"reward": "figures/reward.png", "entropy": "figures/entropy.png"})
    assert text.startswith("# mini\n")
    places = [text.index(BLOCKS[name].strip()) for name in TABLES]
    assert places == sorted(places)
    assert "![reward](figures/reward.png)" in text and "![entropy](figures/entropy.png)" in text


def test_says_what_is_tested_and_what_to_expect():
    text = render("mini", "", BLOCKS, {})
    for words in (
        "paired t-test",
        "Holm",
        "training seeds",
        "new problems",
        '"not resolved" is the usual honest outcome',
    ):
        assert words in text
    assert "paper's scale" not in text and "## Figures" not in text


def test_a_miniature_does_not_speak_for_the_papers_scale():
    text = render("mini", "A Miniature on one CPU.", BLOCKS, {})
    assert "A Miniature on one CPU." in text and "do not speak for the paper's scale" in text
    assert "paper's scale" not in render("paper", "Run on eight GPUs.", BLOCKS, {})


def test_a_missing_table_is_named():
    with pytest.raises(UserError, match=r"missing \['contrasts'\]"):
        render("mini", "", {k: v for k, v in BLOCKS.items() if k != "contrasts"}, {})
