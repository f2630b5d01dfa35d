"""Whatever a note, an id, a claim or an answer holds is shown on a page as text, and nothing of it becomes markup."""

import re
from html.parser import HTMLParser

import pandas as pd
import pytest
from test_pages import CLAIM

from ict_core.report.claims import claims_page
from ict_core.report.page import page
from ict_core.tables.table import Table
from ict_core.tables.write import markdown

HIT = "document.title='hit'"
HOSTILE = (
    f"<script>{HIT}</script>",
    f"<img src=x onerror={HIT}>",
    f"</style></title></table><script>{HIT}</script>",
    f"<iframe srcdoc='<script>parent.{HIT}</script>'>",
    f'" onmouseover="{HIT}" autofocus onfocus="{HIT}',
    f"[a](javascript:{HIT})",
    "![b](http://x.invalid/b.png)",
    "<http://x.invalid/c>",
    f"<math><mtext></math><!--><img src=x onerror={HIT}>",
    f"&lt;script&gt;{HIT}&lt;/script&gt;",
)
TAGS = "html head meta title style body p h1 h2 h3 ul li table thead tbody tr th td strong em code details summary"
ALLOWED = set(re.findall(r"\w+", TAGS))


class Page(HTMLParser):
    """Elements and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def a_table() -> str:
    cells = pd.DataFrame(dict.fromkeys(("id", *HOSTILE), HOSTILE))
    return markdown(Table(cells, cells, " ".join(HOSTILE), 1, "t"), " ".join(HOSTILE))


def claims() -> str:
    made = [CLAIM | dict.fromkeys(("id", "statement", "source", "paper", "test", "remark"), text) for text in HOSTILE]
    return claims_page(HOSTILE[0], " ".join(HOSTILE), made, 0.02, 0.8)


@pytest.mark.parametrize("make", [a_table, claims])
def test_hostile_text_is_shown_and_becomes_no_markup(make):
    found = Page(page("t", make()))
    assert found.tags <= ALLOWED and found.attributes <= {"lang", "charset", "name", "content", "style", "data-head"}
    assert not Page("".join(HOSTILE)).tags <= ALLOWED  # a page that held it would be noticed
