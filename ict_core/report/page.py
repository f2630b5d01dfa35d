"""A page as HTML: one style, tables that a telephone shows in full, and the meaning of their marks."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType

from markdown_it import MarkdownIt
from markdown_it.token import Token

MARKS = (
    "*Marks.* `a ± b` is a mean and half of its 95 % interval, `a (b–c)` a mean and the interval's limits, `a ± —` a "
    "mean without an interval, as every run gives the same value or there is one. Δ is a difference in points, paired "
    "by training seed. ↑ is better, ↓ worse, ≈ equivalent: two one-sided tests (TOST) place the difference within the "
    "margin. "
    "`not testable here`: a gate of the study's validity failed, so no verdict counts. — stands where nothing is.\n"
)
"""The meaning of the marks in the tables and the answer."""

STYLE = """\
body{margin:1.5rem auto;padding:0 1.25rem;max-width:78rem;color:#1b1b1b;background:#fff;\
font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
h1{font-size:1.6rem;margin:0 0 .75rem}h2{font-size:1.2rem;margin:2rem 0 .5rem}
p,li{max-width:62rem}
code{font:.92em ui-monospace,Consolas,monospace;background:#f0f0f0;padding:0 .2em}
table{border-collapse:collapse;border-top:2px solid #333;border-bottom:2px solid #333;font-size:14px;\
font-variant-numeric:tabular-nums;display:block;overflow-x:auto;margin:.75rem 0;width:max-content;max-width:100%}
th{border-bottom:1px solid #333;font-weight:600;text-align:left}
th,td{padding:.25rem .6rem;vertical-align:top}
tbody tr+tr td{border-top:1px solid #e3e3e3}
.wide{font-size:12px}.wide th,.wide td{padding:.25rem .3rem}.wide th{overflow-wrap:anywhere}
@media(max-width:600px){p:has(>img){overflow-x:auto}p>img{max-width:none;width:40rem}\
thead{display:none}table,tbody,tr{display:block;width:auto}tr{padding:.35rem 0}\
tbody tr+tr{border-top:1px solid #ccc}td:empty{display:none}td{display:inline-block;border:0!important;\
padding:0 1rem .15rem 0;max-width:100%;text-align:left!important}\
td::before{content:attr(data-head);display:block;font-size:12px;color:#666}}
img{max-width:100%}summary{cursor:pointer;font-weight:600;margin:.75rem 0}
"""


def folded(summary: str, markdown: str) -> str:
    """A part of a page that shows only its summary until a reader opens it."""
    return f"<details><summary>{summary}</summary>\n\n{markdown.rstrip()}\n\n</details>\n"


_MANY_COLUMNS = 11
_FOLD = re.compile("<p>&lt;details&gt;&lt;summary&gt;(.*?)&lt;/summary&gt;</p>")
_FOLD_END = "<p>&lt;/details&gt;</p>"


def page(title: str, markdown: str, images: Mapping[str, bytes] = MappingProxyType({})) -> str:
    """The text as HTML with its style inside. HTML, links and images in the text are shown, not interpreted.

    Exceptions are the parts that :func:`folded` wrote, and `images`: path -> PNG of an image that is alone in a
    paragraph of the text.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.disable(["autolink", "image", "link", "reference"]).parse(markdown)
    _name_cells(tokens)
    text = parser.renderer.render(tokens, parser.options, {})
    text = _FOLD.sub(r"<details><summary>\1</summary>", text).replace(_FOLD_END, "</details>")
    for name, content in images.items():
        source = f"data:image/png;base64,{b64encode(content).decode()}"  # nothing in base64 is special to a pattern
        reference = re.compile(rf"<p>!\[([^\]<]*)\]\({re.escape(name)}\)</p>")
        text = reference.sub(rf'<p><img alt="\1" src="{source}"></p>', text)
    meta = '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">'
    head = f'<!doctype html>\n<html lang="en">\n<head>\n{meta}\n<title>{escape(title)}</title>\n'
    return f"{head}<style>\n{STYLE}</style>\n</head>\n<body>\n{text}</body>\n</html>\n"


def _name_cells(tokens: Sequence[Token]) -> None:
    """Give each cell of a table its column's heading, which is shown above it where the window is narrow.

    A table of many columns is set in smaller print, so that a wide window shows all of it.
    """
    heads: list[str] = []
    column, table = 0, Token("table_open", "table", 1)
    for token, content in zip(tokens, tokens[1:], strict=False):
        if token.type == "table_open":
            table = token
        elif token.type == "thead_close" and len(heads) > _MANY_COLUMNS:
            table.attrSet("class", "wide")
        elif token.type in ("thead_open", "tr_open"):
            heads, column = [] if token.type == "thead_open" else heads, 0
        elif token.type == "th_open":
            heads.append("".join(part.content for part in content.children or []))
        elif token.type == "td_open":
            token.attrSet("data-head", heads[column])
            column += 1
