"""What the documents name is there: targets, subcommands, files, variants."""

import re
from pathlib import Path

import pytest
import yaml
from pages import PAGES, ROOT
from subcommands import SUBCOMMANDS

COMMANDS = [*PAGES, ROOT / ".github/workflows/ci.yml", ROOT / ".ci/run", ROOT / ".pre-commit-config.yaml"]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
ENDINGS = "py|md|yaml|yml|smk|sh|css|js|ipynb|toml|cff|lock|in|txt"


def code(page: Path) -> list[str]:
    """What stands in a page as code, a span or a line each; of another file all of its lines."""
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".md":
        return text.splitlines()
    spans = re.findall(r"(?<!`)`([^`]+)`(?!`)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    blocks = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL) + re.findall(r"^ {4}\S.*$", text, re.MULTILINE)
    return spans + [line for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("page", COMMANDS, ids=lambda page: page.name)
def test_every_target_is_in_the_makefile_and_every_subcommand_in_ict(page):
    made = {name for line in code(page) for name in re.findall(r"(?:^|[\s`;&])make ([a-z-]+)", line)}
    called = {name for line in code(page) for name in re.findall(r"(?:^|[\s`;&|])ict ([a-z][a-z-]+)", line)}
    assert made - TARGETS == set()
    assert called - set(SUBCOMMANDS) == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_named_is_there(page):
    named = {word for line in code(page) for word in re.findall(r"(?<![\w./<>{}$*-])[\w./-]+(?![\w<>{}$*/-])", line)}
    shown = {word for word in named if re.fullmatch(rf"[\w.-]+(/[\w.-]+)+(/|\.({ENDINGS}))|[a-z_]+\.py", word)}
    links = set(re.findall(r"\]\((?!https?:)([\w./-]+)\)", page.read_text(encoding="utf-8")))
    assert shown | links, "the page names files, and none was found"
    made = {word for word in shown if word.startswith("results/") and "reference" not in word}
    gone = [word for word in sorted((shown | links) - made) if not found(word, page)]
    own = set(re.findall(r"> ([\w./-]+)", page.read_text(encoding="utf-8")))  # that a page's own commands make
    assert [word for word in gone if word not in own] == []


def found(word: str, page: Path) -> bool:
    """Whether a file is there: from the repository, the library or the page's own folder, or a lone name anywhere."""
    if any((folder / word).exists() for folder in (ROOT, ROOT / "ict_core", page.parent)):
        return True
    return "/" not in word and any((ROOT / "ict_core").rglob(word))


def test_every_variant_is_in_the_pages_of_methods():
    pages = "".join((ROOT / "docs" / page).read_text() for page in ("methods.md", "rules.md"))
    spans = set(re.findall(r"`([\w.-]+)`", pages))
    methods = {file.stem: yaml.safe_load(file.read_text()) for file in (ROOT / "configs/methods").glob("*.yaml")}
    variants = {name for name, keys in methods.items() if not {"control", "batch"} & set(keys)}  # which are named alike
    assert variants - spans == set(), "docs/methods.md and docs/rules.md have no row for them"
    like_variants = {s for s in spans if re.fullmatch(r"(ict|entropy|stapo|grpo|random|renyi|kl|tv)-\w[\w-]*", s)}
    assert like_variants - set(methods) == set()
