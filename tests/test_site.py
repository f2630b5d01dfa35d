"""What pages show of declarations and of stored results is current. `make site` checks their contents and links."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


def script(name: str) -> ModuleType:
    """A file of scripts/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"scripts/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_reference_is_what_the_declarations_say():
    for name, page in script("reference").PAGES.items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == page(), "run python scripts/reference.py"


@pytest.mark.slow
def test_the_blocks_are_what_the_stored_results_say():
    blocks = script("blocks")
    for path, text in blocks.pages():
        assert path.read_text(encoding="utf-8") == text, "run python scripts/blocks.py"
    figure = blocks.REFERENCE / "rules/figures/bench.png"
    assert (ROOT / "docs/rules.png").read_bytes() == figure.read_bytes()
