"""The scripts of `benchmarks/`: each runs with `--quick`, and what is quoted of them is what they take."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
SCRIPTS = sorted(file for file in BENCHMARKS.glob("*.py") if file.name != "report.py")
HELP = """
import json, runpy, sys
sys.path[0] = "benchmarks"
for command in json.loads(sys.argv[1]):
    sys.argv = [*command, "--help"]
    try:
        runpy.run_path(command[0], run_name="__main__")
    except SystemExit as end:
        assert not end.code, command
    else:
        raise AssertionError(f"{command}: no help")
"""


def python(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run Python as a reader does in the repository, whatever other tests have set."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("VLLM_", "RESULTS"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=inherited | {"PATH": path}, capture_output=True, text=True, check=False
    )


def kept() -> dict[str, bytes]:
    """All that a benchmark may write to, and the studies that have results."""
    files = {file.name: file.read_bytes() for file in BENCHMARKS.iterdir() if file.is_file()}
    return files | {f"results/{study.name}": b"" for study in (ROOT / "results").iterdir()}


def tables(text: str) -> list[list[list[str]]]:
    """The Markdown tables of a text: rows of cells, the header first."""
    found = re.findall(r"^(\|.+\|)\n\|[ :|-]+\|\n((?:\|.+\|\n)+)", text, re.MULTILINE)
    return [
        [[cell.strip() for cell in row[1:-1].split(" |")] for row in (head, *rows.splitlines())] for head, rows in found
    ]


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_quick_form_prints_finite_figures_and_keeps_nothing(script):
    assert f"python benchmarks/{script.name} --quick" in ast.get_docstring(ast.parse(script.read_text()))
    before = kept()
    done = python(script, "--quick")
    assert done.returncode == 0 and "Traceback" not in done.stdout + done.stderr, (done.stdout + done.stderr)[-5000:]
    assert kept() == before
    assert tables(done.stdout), done.stdout
    for header, *rows in tables(done.stdout):
        for row in rows:
            assert any(re.match(r"-?\d", cell) for cell in row[1:]), row
            assert not any(re.search(r"\b(nan|inf|none)\b", cell.lower()) for cell in row), row
        for name, *column in zip(header, *rows, strict=True):
            assert any(column), f"the column {name!r} is empty"


def test_rates_that_are_not_there_are_one_clear_error(tmp_path):
    halved = python("benchmarks/tuning.py", "--rates", ROOT / "results/reference/mini-rates")
    assert halved.returncode == 2 and "not every rate was trained on every seed" in halved.stderr
    done = python("benchmarks/tuning.py", "--rates", tmp_path)
    assert done.returncode == 2 and f"error: --rates {tmp_path}: " in done.stderr and "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_commands_that_are_quoted_are_what_their_scripts_take():
    """All in one process, as their imports are the larger part of it."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), BENCHMARKS / "results.md", *SCRIPTS]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    quoted = [found for text in texts for found in re.findall(r"python (benchmarks/\w+\.py[^`\n]*)", text)]
    commands = [shlex.split(command, comments=True) for command in quoted]
    assert {words[0] for words in commands} == {f"benchmarks/{script.name}" for script in SCRIPTS}
    with_options = [words for words in commands if set(words[1:]) - {"--quick"}]
    assert len(with_options) > 5
    done = python("-c", HELP, json.dumps(with_options))
    assert done.returncode == 0, done.stderr[-3000:]
