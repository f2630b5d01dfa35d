"""The site of the documentation: every page is in its contents, every link leads on, the reference is current."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
DOCS = sorted((ROOT / "docs").glob("*.md"))
SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Those that its headings have, as GitHub and the site make them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = (re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", head).lower() for head in heads)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", head)) for head in plain}


def test_every_page_is_in_the_contents_once():
    listed = [page for part in SITE["nav"] for pages in part.values() for page in pages]
    assert sorted(listed) == [page.name for page in DOCS]
    assert SITE["theme"]["font"] is False  # no page asks another host for anything


@pytest.mark.parametrize("page", [*DOCS, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_every_link_leads_to_a_page_and_its_heading(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\((?!https?:)([^)\s]*)\)", text)
    for link in links:
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert page.parent != ROOT / "docs" or target.parent == page.parent, f"{link}: not on the site"
        assert not anchor or anchor in anchors(target), link


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


def test_a_block_without_a_place_is_missed():
    blocks = script("blocks")
    with pytest.raises(KeyError, match="rules"):
        blocks.with_blocks("docs/bench.md", "# A page without blocks")
