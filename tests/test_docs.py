"""What the documents name is there: targets, subcommands, files, variants; and the files that hosts read are whole."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from pages import PAGES, ROOT
from subcommands import SUBCOMMANDS

COMMANDS = [*PAGES, ROOT / ".github/workflows/ci.yml", ROOT / ".ci/run", ROOT / ".pre-commit-config.yaml"]
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
ENDINGS = "py|md|yaml|yml|smk|sh|css|js|ipynb|toml|cff|lock|in|txt"


def load(file: str) -> dict:
    return yaml.safe_load((ROOT / file).read_text())


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
    made = {name for line in code(page) for name in re.findall(r"(?:^|[\s`;&])make ([a-z]+)", line)}
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
    assert [word for word in gone if word not in page_makes(page)] == []


def page_makes(page: Path) -> set[str]:
    """The files that a page's own commands make."""
    return set(re.findall(r"> ([\w./-]+)", page.read_text(encoding="utf-8")))


def found(word: str, page: Path) -> bool:
    """Whether a file is there: from the repository, the library or the page's own folder, or a lone name anywhere."""
    if any((folder / word).exists() for folder in (ROOT, ROOT / "ict_core", page.parent)):
        return True
    return "/" not in word and any((ROOT / "ict_core").rglob(word))


def test_every_variant_is_in_the_pages_of_methods():
    pages = "".join((ROOT / "docs" / page).read_text() for page in ("methods.md", "rules.md"))
    spans = set(re.findall(r"`([\w.-]+)`", pages))
    methods = {file.stem: load(f"configs/methods/{file.name}") for file in (ROOT / "configs/methods").glob("*.yaml")}
    variants = {name for name, keys in methods.items() if not {"control", "batch"} & set(keys)}  # which are named alike
    assert variants - spans == set(), "docs/methods.md and docs/rules.md have no row for them"
    like_variants = {s for s in spans if re.fullmatch(r"(ict|entropy|stapo|grpo|random|renyi|kl|tv)-\w[\w-]*", s)}
    assert like_variants - set(methods) == set()


def test_every_folder_of_configs_is_on_some_page():
    kinds = {folder.name for folder in (ROOT / "configs").iterdir() if folder.is_dir()}
    text = "".join(page.read_text() for page in PAGES)
    assert {kind for kind in kinds if f"configs/{kind}/" not in text} == set()


def test_the_version_is_said_alike():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert load("CITATION.cff")["version"] == version
    assert re.search(r"^## \[(\d.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == version


def test_the_citation_is_complete():
    citation = load("CITATION.cff")
    assert citation["cff-version"] == "1.2.0" and citation["license"] == "Apache-2.0"
    assert {"message", "title", "authors", "version"} <= set(citation)
    cited = [reference["identifiers"][0]["value"].removeprefix("arXiv:") for reference in citation["references"]]
    assert cited == ["2606.19771", "2506.01939", "2602.15620", "2402.03300"]
    assert all({"type", "title", "authors"} <= set(reference) for reference in citation["references"])
    assert all(f"arXiv:{paper}" in (ROOT / "docs/methods.md").read_text() for paper in cited)


def test_the_ci_runs_what_is_run_here():
    ci = load(".github/workflows/ci.yml")
    runs = [step["run"] for job in ci["jobs"].values() for step in job["steps"] if "run" in step]
    assert {".ci/run", "make lint"} <= set(runs)
    assert set(ci["jobs"]["long"]["strategy"]["matrix"]["target"]) <= TARGETS
    assert ci["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] for job in ci["jobs"].values())
    assert all(step in (ROOT / ".ci/run").read_text() for step in ("make system", "REQUIRE_ALL=1", "make everything"))


def test_the_hooks_are_the_linters_of_make_lint():
    hooks = [hook for repo in load(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    lint = (ROOT / "Makefile").read_text()
    for hook in hooks:
        command = hook["entry"].removeprefix(".venv/bin/")
        assert f"$(BIN)/{command}" in lint or command in lint


def test_the_catalog_finds_what_it_asks_for():
    usage = load(".snakemake-workflow-catalog.yml")["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert (ROOT / "workflow/Snakefile").is_file() and (ROOT / "config/README.md").is_file()
    assert {"snakemake", "workflow"} <= set(re.findall(r"\w+", (ROOT / "README.md").read_text().lower()))


def test_the_licence_is_whole():
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text and "END OF TERMS AND CONDITIONS" in text
    assert all(re.search(rf"^   {n}\. ", text, re.MULTILINE) for n in range(1, 10))
