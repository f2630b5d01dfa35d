"""One module names the files of a study: no other spells the name of one."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ict_core.evidence._stored import MEASURED
from ict_core.store import CellFiles, StudyFiles, TrainFiles, checkpoints_folder
from ict_core.store import _layout as layout

ROOT = Path(__file__).parents[2]
LAYOUT = Path(inspect.getfile(layout))
OTHERS = sorted(
    path
    for folder, kinds in (("ict_core", ["*.py"]), ("workflow", ["Snakefile", "*.smk"]))
    for kind in kinds
    for path in (ROOT / folder).rglob(kind)
    if path != LAYOUT
)
STUDY = StudyFiles(Path("s"))
FILES = {
    path.name
    for files in (STUDY, CellFiles(Path("c")), TrainFiles(Path("t")))
    for path in [*vars(files).values(), *getattr(files, "measured", [])]
    if isinstance(path, Path) and path.suffix
}
FOLDERS = {
    STUDY.train_problems.parent.name,
    STUDY.regraded.results.name,
    STUDY.trackers("c").parent.name,
    STUDY.statistics("x").parent.name,
    layout.study_folder("s").parent.name,
    *(path.name for path in (STUDY.tables, STUDY.figures, STUDY.logs, STUDY.base_model("m"), CellFiles(Path()).train)),
}
NAME = re.compile(r"(?:[\w{}-]+/)*(?:" + "|".join(map(re.escape, FILES)) + ")")
CELL = re.compile(r"\bseed-\{\}$|" + re.escape(checkpoints_folder(Path("x")).name[1:]) + "$")


def texts(source: str) -> Iterator[tuple[int, str, bool]]:
    """Each text of a program but its docstrings: line, text ({} for what is filled in), whether after /."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    joined = {id(node.right) for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)}
    for node in ast.walk(tree):
        if id(node) in docstrings:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value, id(node) in joined
        elif isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield node.lineno, "".join(map(str, parts)), id(node) in joined


def spelled(text: str, joined: bool) -> bool:
    """Whether a text of a program is the path of a study's file or folder, as far as it can be told from the text."""
    return bool(NAME.fullmatch(text) or CELL.search(text) or (joined and text.split("/")[0] in FOLDERS))


@pytest.mark.slow
def test_no_module_spells_the_name_of_a_study_s_file():
    modules = [path for path in OTHERS if path.suffix == ".py"]
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in modules
        for line, text, joined in texts(path.read_text())
        if spelled(text, joined)
    ]
    assert len(modules) > 100 and found == [], f"take it from {LAYOUT.relative_to(ROOT)}"


@pytest.mark.parametrize("path", [p for p in OTHERS if p.suffix != ".py"], ids=lambda p: p.name)
def test_no_rule_spells_the_name_of_a_study_s_file(path):
    code = re.sub(r'(?m)^\s*#.*$|"""(?s:.*?)"""', "", path.read_text())
    quoted = re.findall(r'f?"([^"\n]*)"', code)
    words = [word.strip("().,") for text in quoted for word in re.sub(r"\{[^{}]*\}", "{}", text).split()]
    assert [word for word in words if spelled(word, False) or re.match(r"\{\}/\w", word)] == []


@pytest.mark.parametrize(
    ("program", "number"),
    [
        ('folder / "log.parquet"', 1),
        ('folder / "train"', 1),
        ('name = "statistics"', 0),
        ('name = f"{cell}/seed-{seed}"', 1),
        ('out.name + ".checkpoints"', 1),
        ('raise E("no row of study.json")', 0),
        ('name = "results/x/claims.json"', 1),
        ('"""log.parquet"""', 0),
    ],
)
def test_what_counts_as_a_name(program, number):
    assert sum(spelled(text, joined) for _, text, joined in texts(program)) == number


def test_every_folder_of_results_is_a_study_s_or_declared_as_the_project_s_own():
    texts = [path.read_text() for path in [ROOT / "Makefile", ROOT / ".gitignore", LAYOUT, *OTHERS]]
    named = {name for text in texts for name in re.findall(r"\bresults/([a-z][a-z0-9._-]*)", text)}
    named |= set(re.findall(r'Path\("results", "([a-z-]+)"', LAYOUT.read_text()))
    studies = {path.stem for path in ROOT.glob("configs/studies/*.yaml")}
    assert named - studies == layout.RESERVED.keys()
    assert not studies & layout.RESERVED.keys()


def test_every_measured_frame_has_its_file_and_its_schema():
    assert set(layout.FRAMES) == set(MEASURED)
