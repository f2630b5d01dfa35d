"""A Markdown text as a page of HTML that stands alone."""

from html import escape

from markdown_it import MarkdownIt

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
"""


def page(title: str, markdown: str) -> str:
    """The text as HTML with its style inside. HTML, links and images in the text are shown, not interpreted."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    body = parser.disable(["autolink", "image", "link", "reference"]).render(markdown)
    head = f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
    return f"{head}<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
