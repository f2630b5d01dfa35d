"""Fills the generated parts of README.md and docs/ anew: `python scripts/pages.py`.

A part stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``. NAME is a stored file, such as
``results/reference/mini/answer.md`` or a table there, or a table of the calibration, ``calibration: CAPTION``.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
_PART = re.compile(r"(<!-- generated: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages() -> list[Path]:
    """Every page that may have generated parts."""
    return [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]


def filled(text: str) -> str:
    """A page's text with all its generated parts as they are to be; KeyError or FileNotFoundError: no such NAME."""
    return _PART.sub(lambda part: f"{part[1]}{_content(part[2]).strip()}\n{part[3]}", text)


def _content(name: str) -> str:
    kind, _, caption = name.partition(": ")
    if kind == "calibration":
        return f"{caption}:\n\n{_calibration()[caption]}"
    return (REPOSITORY / name).read_text(encoding="utf-8")


@cache
def _calibration() -> Mapping[str, str]:
    from ict_core.calibration import ledger
    from ict_core.calibration.tables import ledger_tables, tables
    from ict_core.statistics.calibrated import stored

    return tables(stored()) | ledger_tables(ledger.stored())


if __name__ == "__main__":
    for page in pages():
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
