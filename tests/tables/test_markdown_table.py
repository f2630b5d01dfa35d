import pandas as pd
from markdown_it import MarkdownIt

from ict_core.tables._frames import Table
from ict_core.tables._write import markdown, markdown_escape

SHOWN = pd.DataFrame(
    {
        "model": ["a_b", "a_b", "c"],
        "metric": ["pass@1", "pass@1", "pass@1"],
        "kept %": ["100", "—", "5"],
        "mean": ["23.4 ± 3.1ᵃ⁺", "−2.0 ± —", "<0.1"],
        "verdict": ["not resolved", "50 % & more | less", "*~^\\ <b>"],
    }
)
TABLE = Table("main", pd.DataFrame(), SHOWN, "Rates of `a_b`.", keys=2)


def rendered(text):
    return MarkdownIt("commonmark").enable("table").render(text)


def test_markdown():
    lines = markdown(TABLE, "A miniature.").splitlines()
    assert lines[0] == TABLE.caption and lines[2] == "**A miniature.**"
    assert lines[4] == "| model | metric | kept % | mean | verdict |"
    assert lines[5] == "| :-- | :-- | --: | --: | :-- |"
    assert lines[7] == "|  |  | — | −2.0 ± — | 50 % & more \\| less |"
    assert "**" not in markdown(TABLE)


def test_every_cell_is_shown_as_it_is():
    page = rendered(markdown(TABLE))
    cells = ["a_b", "&lt;0.1", "50 % &amp; more | less", "*~^\\ &lt;b&gt;", "23.4 ± 3.1ᵃ⁺"]
    assert all(f">{cell}</td>" in page for cell in cells)
    assert "<em>" not in page and "<b>" not in page


def test_escapes():
    assert markdown_escape("_a_ <i> &lt; [x](y) `a_b` <0.1") == r"\_a\_ \<i> \&lt; \[x\](y) `a_b` <0.1"


def test_a_note_with_markup_stays_a_note():
    assert "<strong>Run 2*3 of a_b</strong>" in rendered(markdown(TABLE, "Run 2*3 of a_b"))
