"""Pages in a real browser: whatever a problem, an id, a note or an answer holds is shown, and nothing of it runs."""

import subprocess
from html.parser import HTMLParser

import pandas as pd
import pytest
from system import chromium
from test_pages import CLAIM, MANIFEST, compute, settings

from ict_core.markdown import markdown_table
from ict_core.report import claims_page, page
from ict_core.report._build import overview
from ict_core.report._claims import folded
from ict_core.stages.regrade import for_markdown
from ict_core.tables import markdown
from ict_core.tables._frames import Table

HIT = "document.title='hit'"
HOSTILE = (
    f"<script>{HIT}</script>",
    f"<img src=x onerror={HIT}>",
    f"<svg onload={HIT}><a>",
    f"</style></title></table><script>{HIT}</script>",
    f"<iframe srcdoc='<script>parent.{HIT}</script>'>",
    f'" onmouseover="{HIT}" autofocus onfocus="{HIT}',
    f"[a](javascript:{HIT})",
    "![b](http://x.invalid/b.png)",
    "<http://x.invalid/c>",
    f"<math><mtext></math><!--><img src=x onerror={HIT}>",
    f"&lt;script&gt;{HIT}&lt;/script&gt;",
    f"{{{{constructor.constructor('{HIT}')()}}}}",
)
ALLOWED = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "p",
        "h1",
        "h2",
        "h3",
        "ul",
        "li",
        "table",
        "thead",
    ),
    *("tbody", "tr", "th", "td", "strong", "em", "code"),
    *("details", "summary"),  # of what is folded away
}


class Page(HTMLParser):
    """Elements, attributes and visible text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.title, self.text, self._inside = "", "", ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside == "title":
            self.title += data
        elif self._inside != "style":
            self.text += data


def tables_page() -> str:
    cells = pd.DataFrame(dict.fromkeys(("id", HOSTILE[0]), HOSTILE))
    return page("t", folded("Table", markdown(Table("t", cells, cells, " ".join(HOSTILE), keys=1), " ".join(HOSTILE))))


def claims() -> str:
    made = [CLAIM | dict.fromkeys(("id", "statement", "source", "paper", "test", "remark"), text) for text in HOSTILE]
    return page("t", claims_page(HOSTILE[0], " ".join(HOSTILE), made, 0.02, 0.8))


def first() -> str:
    hostile = {"grpo": {f"x{i}": text for i, text in enumerate(HOSTILE)}}
    changed = settings(methods=hostile, training={"steps": 1, "note": " ".join(HOSTILE)})
    made = [CLAIM | {"statement": text, "paper": text} for text in HOSTILE]
    return page("t", overview(changed, made, compute(), MANIFEST, " ".join(HOSTILE)))


def flips() -> str:
    return page("t", markdown_table(["answer"], [[for_markdown(text)] for text in HOSTILE], "-"))


@pytest.mark.parametrize("make", [tables_page, claims, first, flips])
def test_hostile_text_is_shown_and_not_run(tmp_path, make):
    file = tmp_path / "page.html"
    file.write_text(make(), encoding="utf-8")
    command = [chromium(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--virtual-time-budget=2000", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    shown = Page(done.stdout)
    assert shown.title != "hit" and "t" in shown.title
    assert shown.tags <= ALLOWED
    assert {name for name in shown.attributes if name.startswith("on") or name in ("src", "href", "srcdoc")} == set()
    text = " ".join(shown.text.split())
    assert [
        hostile
        for hostile in HOSTILE
        if hostile not in text and hostile.replace("&lt;", "<").replace("&gt;", ">") not in text
    ] == []


def test_a_page_that_ran_would_be_noticed(tmp_path):
    shown = Page("".join(HOSTILE))
    assert not shown.tags <= ALLOWED and "onerror" in shown.attributes
