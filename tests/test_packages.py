"""What a package offers stands in its `__init__.pyi`; every other module of it is private by name, or found by name."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[1] / "ict_core"
STUBS = sorted(LIBRARY.rglob("__init__.pyi"))


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(LIBRARY.parent).parts)


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: dotted(stub.parent))
def test_every_name_that_a_package_offers_is_there(stub):
    package = import_module(dotted(stub.parent))
    for node in ast.parse(stub.read_text()).body:
        assert isinstance(node, ast.ImportFrom) and node.level == 1
        of_package = "." in node.module or stub.parent == LIBRARY  # a package offers what those below it do
        assert node.module.startswith("_") or of_package or node.module == "paper"  # a table, which has a schema too
        for name in node.names:
            assert name.name == name.asname and hasattr(package, name.name)


def test_no_package_reaches_into_anothers_private_modules():
    reached = []
    for file in LIBRARY.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and "._" in (node.module or ""):
                package = LIBRARY.parent / node.module.rpartition("._")[0].replace(".", "/")
                if package not in file.parents:
                    reached.append((file, node.module))
    assert reached == []


def test_the_root_holds_next_to_nothing():
    assert {path.name for path in LIBRARY.glob("*.py")} == {
        "__init__.py",
        "__main__.py",
        "errors.py",
        "markdown.py",
        "seeding.py",
    }


def test_no_two_files_of_tests_have_one_name():
    """Their folders are no packages, so pytest cannot tell them apart; a run of some folders alone does not show it."""
    names = [path.name for path in Path(__file__).parent.rglob("*.py") if path.name != "conftest.py"]
    assert len(names) == len(set(names)), [name for name in names if names.count(name) > 1]


FOLDERS = [LIBRARY, *(file.parent for file in LIBRARY.rglob("__init__.py") if file.parent != LIBRARY)]
MODULES = {LIBRARY.name} | {folder.name for folder in FOLDERS} | {f.stem.lstrip("_") for f in LIBRARY.rglob("*.py")}
KEYS = set(re.findall(r"^\| `(\w+)` \|", (LIBRARY.parent / "docs/keys.md").read_text(encoding="utf-8"), re.MULTILINE))
FILES = {"csv", "html", "json", "lock", "md", "parquet", "py", "pyi", "yaml"}


def leads(folder: Path, first: str, *rest: str) -> bool:
    """Whether dotted names lead from a folder of the library to a module, or to a name in one."""
    if (folder / first).is_dir():
        return not rest or leads(folder / first, *rest)
    if (module := folder / f"{first}.py").is_file():
        return not rest or bool(re.search(rf"^(class |def )?{rest[0]}\b", module.read_text(), re.MULTILINE))
    stub = folder / "__init__.pyi"
    return stub.exists() and re.search(rf" as {first}$", stub.read_text(), re.MULTILINE) is not None


def named_modules(docstring: str) -> Iterator[list[str]]:
    """What it names by dots of a package or module here, without the library's own name; keys of files are none."""
    for name in re.findall(r"`~?([A-Za-z_]\w*(?:\.\w+)+)`", docstring):
        parts = name.split(".")
        if parts[0] in MODULES and parts[-1] not in FILES and not {*parts} <= KEYS:
            yield parts[parts[0] == LIBRARY.name :]


@pytest.mark.parametrize("folder", FOLDERS, ids=dotted)
def test_every_module_that_a_docstring_names_is_there(folder):
    wrong = []
    for file in folder.glob("*.py"):
        texts = [node.value for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Expr)]
        docstrings = [str(text.value) for text in texts if isinstance(text, ast.Constant)]
        names = [parts for text in docstrings for parts in named_modules(text)]
        wrong += [(file.name, parts) for parts in names if not any(leads(above, *parts) for above in FOLDERS)]
    assert wrong == []
