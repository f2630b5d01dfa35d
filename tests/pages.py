"""The pages for users, and the command lines that stand on them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "config/README.md", *sorted((ROOT / "docs").glob("*.md"))]
APART = ("log.md", "api.md", "commands.md", "keys.md", "calibration.md", "bench-tables.md")
"""A diary, which names what is gone; and pages that are made."""
PAGES = [page for page in PAGES if page.name not in APART]

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(r"(?:^ {4}.*\n?)+", re.MULTILINE)
_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_HERE = re.compile(r"<<'(\w+)'.*?^\1$", re.DOTALL | re.MULTILINE)
_PROGRAMS = r"apt-get|cp|git|ict|make|pip|pipx|pre-commit|pytest|python|snakemake|source"
# the first words of indented blocks that are no commands: paths of data, formulas, the mini world's arithmetic
_NO_COMMANDS = ("configs/*.yaml ->", "results/<study>/data/", "J = mean over", "67-26=41.")


def parts(page: Path) -> tuple[list[str], list[str], list[str]]:
    """A page's fenced blocks of `bash`, its indented blocks, and its spans of code."""
    text = page.read_text(encoding="utf-8")
    fenced = [block for language, block in _FENCED.findall(text) if language == "bash"]
    text = _FENCED.sub("", text)
    indented = [re.sub(r"^ {4}", "", block, flags=re.MULTILINE) for block in _INDENTED.findall(text)]
    return fenced, indented, [" ".join(span.split()) for span in _SPAN.findall(_INDENTED.sub("", text))]


def command_lines(page: Path) -> set[str]:
    """Every command of a page: of its blocks each one, of its spans those of a program with at least one argument."""
    fenced, indented, spans = parts(page)
    blocks = [*fenced, *(block for block in indented if not block.startswith(_NO_COMMANDS))]
    whole = {span for span in spans if re.match(rf"(?:{_PROGRAMS}) \S", span)}
    return whole | {command for block in blocks for command in commands(block)}


def commands(block: str) -> list[str]:
    """The commands of a block of shell, without comments; a text that one is given to read is no part of it."""
    joined = _HERE.sub("", block).replace("\\\n", " ")
    lines = (re.sub(r"(^|\s+)#.*", "", line) for line in joined.splitlines())
    return [" ".join(part.split()) for line in lines for part in re.split(r"&&|\|\|", line) if part.strip()]
