from html.parser import HTMLParser

import pandas as pd

from ict_core.tables._frames import Table
from ict_core.tables._write import html, html_escape, html_section

SHOWN = pd.DataFrame(
    {
        "model": ["a", "a", "a", "b"],
        "metric": ["pass@1", "pass@1", "pass@4", "pass@4"],
        "mean": ["23.4 ± 3.1ᵃ⁺", "−2.0 ± —", "<0.1", "—"],
        "verdict": ["x & y", "<script>alert(1)</script>", 'a "quoted" word', "it's"],
    }
)
TABLE = Table("main", pd.DataFrame(), SHOWN, "Of `a_b` & <more>.", keys=2, title="Main <results>")


class Page(HTMLParser):
    """The tags that are open, the rows of the table, and each row's class."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.rows, self.classes, self.aligned, self.unknown = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta",):
            self.open.append(tag)
        if tag == "script":
            self.unknown.append(tag)
        if tag == "tr":
            self.rows.append([])
            self.aligned.append([])
            self.classes.append(dict(attrs).get("class", ""))
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.aligned[-1].append(dict(attrs).get("class", ""))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def test_shows_every_cell_as_it_is_and_nests():
    page = Page(html(TABLE, "A <note>."))
    assert page.open == [] and page.unknown == []
    assert page.rows[0] == list(SHOWN.columns)
    assert [row[2:] for row in page.rows[1:]] == SHOWN[["mean", "verdict"]].to_numpy().tolist()
    assert [row[:2] for row in page.rows[1:]] == [["a", "pass@1"], ["", ""], ["", "pass@4"], ["b", "pass@4"]]


def test_numbers_are_aligned_right_and_groups_are_ruled():
    page = Page(html(TABLE))
    assert page.aligned == [["", "", "r", ""]] * 5
    assert page.classes == ["", "", "", "subgroup", "group"]


def test_needs_nothing_but_itself():
    text = html(TABLE, "Note é.")
    assert text.isascii() and "&#233;" in text
    assert "http" not in text and "src=" not in text and "url(" not in text and "<link" not in text
    assert "overflow-x:auto" in text and "<title>Main &lt;results&gt;</title>" in text


def test_the_note_stands_on_top_and_only_where_there_is_one():
    text = html_section(TABLE, "A miniature.")
    assert text.index("A miniature.") < text.index("Main &lt;results&gt;") < text.index("<table>")
    assert 'class="note"' not in html_section(TABLE)


def test_two_tables_may_stand_in_one_page():
    sections = html_section(TABLE) + html_section(Table("views", pd.DataFrame(), SHOWN, "", keys=2))
    assert 'id="table-main"' in sections and 'id="table-views"' in sections
    assert Page(sections).open == []
    rules = [line for line in sections.split("<style>")[1].split("</style>")[0].splitlines() if line]
    assert all(line.startswith(".evidence-table") for line in rules)


def test_escapes():
    assert html_escape('`a<b` & "c" − d\'') == "<code>a&lt;b</code> &amp; &quot;c&quot; &#8722; d&#x27;"
