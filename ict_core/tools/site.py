"""A study's pages as one folder of static files, for any web server or none."""

import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ict_core.errors import UserError
from ict_core.evidence.stored import Stored
from ict_core.figures.registry import FIGURES, caption, sentence_of
from ict_core.report.page import MARKS, folded, page
from ict_core.report.tokens import OTHER_FIGURES
from ict_core.store.files import appearing, write_text
from ict_core.tables.registry import TABLES

_BAR = '<p><a href="{to}">{text}</a></p>'
_TEXTS = {"claims.md": "Claims", "report.md": "Report"}
_MADE = {f"{Path(name).stem}.html" for name in ("index", "tables", "figures", *_TEXTS)}


def write_site(name: str, results: Path, out: Path) -> list[str]:
    """Write the pages of a study into the folder `out`, which must not exist; the index is the study's answer.

    Nothing is drawn again: texts become pages, all figures share one page, all tables another, and pages that are HTML
    already (overview, tokens) are copied. No page loads anything from elsewhere. Returns the files.

    Raises:
        UserError: `out` exists, or `results` has no page.
    """
    if out.exists():
        raise UserError(f"{out}: exists already; allowed: a folder that does not")
    pages, answer = list(_pages(results)), results / "answer.md"
    if not pages and not answer.exists():
        raise UserError(f"{results}: no page of {name} is there; run the study")
    with appearing(out) as folder:
        for file, _, html in pages:
            home = "../" * (len(Path(file).parts) - 1) + "index.html"
            write_text(folder / file, _with_bar(html, home, f"All pages of {name}"))
        links = "\n".join(_BAR.format(to=escape(quote(file)), text=escape(title)) for file, title, _ in pages)
        text = f"{_plain(answer.read_text('utf-8'))}\n\n{MARKS}" if answer.exists() else ""
        index = page(name, f"# The study {name}\n\n{text}").replace("</h1>\n", f"</h1>\n{links}\n", 1)
        write_text(folder / "index.html", index)
    return ["index.html", *(file for file, _, _ in pages)]


def _pages(results: Path) -> Iterator[tuple[str, str, str]]:
    """File, title and HTML of every page."""
    figures = sorted(file for file in (results / "figures").glob("*.png") if sentence_of(file) is None)
    for name, title in _TEXTS.items():
        if (file := results / name).exists():
            text = re.sub(r"\A# .*\n", "", _plain(file.read_text("utf-8")))
            text += "" if MARKS in text else f"\n\n{MARKS}"
            images = {f"figures/{figure.name}": figure.read_bytes() for figure in figures}
            yield file.with_suffix(".html").name, title, page(title, f"# {title}\n\n{text}", images)
    if files := sorted((results / "tables").glob("*.md")):
        parts = [folded(_title(file.stem, TABLES), file.read_text("utf-8")) for file in files]
        yield "tables.html", "Tables", page("Tables", "\n\n".join(["# Tables", MARKS, *parts]))
    if figures:
        declared: dict[str, Any] = {**FIGURES, **OTHER_FIGURES}
        captions = {name: other.caption for name, other in OTHER_FIGURES.items()}
        study = Stored(results)  # which reads its frames once for all figures
        captions |= {file.stem: caption(file.stem, study) for file in figures if file.stem in FIGURES}
        parts = [
            f"## {_title(file.stem, declared)}\n\n![{file.stem}]({file.name})\n\n{captions.get(file.stem, '')}"
            for file in figures
        ]
        images = {file.name: file.read_bytes() for file in figures}
        yield "figures.html", "Figures", page("Figures", "\n\n".join(["# Figures", MARKS, *parts]), images)
    for file in sorted(results.rglob("*.html")):
        place = file.relative_to(results).as_posix()
        if place not in _MADE:
            yield place, "Overview" if place == "overview.html" else f"Page {place}", file.read_text("utf-8")


def _title(name: str, declared: Mapping[str, Any]) -> str:
    """The title of a table or figure, with its name."""
    return f"{declared[name].title} (`{name}`)" if name in declared else f"`{name}`"


def _plain(markdown: str) -> str:
    """Markdown without the targets of links, whose files are not here; images and code keep all."""
    code_or_link = r"(`[^`]*`)|(?<!!)\[((?:`[^`]*`|[^\]`])*)\]\([^)]*\)"
    return re.sub(code_or_link, lambda found: found[1] or found[2], markdown)


def _with_bar(html: str, to: str, text: str) -> str:
    """A page with a link at the start of its body."""
    return re.sub(r"<body[^>]*>", lambda found: found[0] + _BAR.format(to=escape(to), text=escape(text)), html, count=1)
