"""`scripts/size.py` counts what it says."""

import ast
import runpy
from pathlib import Path

import pytest

SIZE = runpy.run_path(str(Path(__file__).resolve().parents[1] / "scripts/size.py"))


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("from ict_core.store import StudyFiles", 0),
        ("from ict_core.store._layout import StudyFiles", 1),
        ("from ict_core.store import _layout, records", 1),
        ("import ict_core._private.part\nfrom . import _sibling\nfrom json import _default_decoder", 1),
    ],
)
def test_imports_of_what_is_private(source, count):
    assert SIZE["private_imports"](ast.parse(source)) == count


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("assert 'four words and more' in text", 0),
        ("assert 'five words that are prose' in text\nassert text == 'a b c d e f'", 1),
        ("with pytest.raises(ValueError, match='no such file in this folder'): pass", 1),
        ("print('five words that are prose')", 0),
    ],
)
def test_assertions_on_prose(source, count):
    assert SIZE["prose_assertions"](ast.parse(source)) == count


def test_the_report_has_a_number_a_line(capsys):
    SIZE["main"]()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8 and all(int(line.split()[0].replace(",", "")) > 0 for line in lines)
