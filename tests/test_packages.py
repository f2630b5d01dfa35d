"""What a package offers stands in its `__init__.pyi`; every other module of it is private by name, or found by name."""

import ast
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


def test_no_two_files_of_tests_have_one_name():
    """Their folders are no packages, so pytest cannot tell them apart; a run of some folders alone does not show it."""
    names = [path.name for path in Path(__file__).parent.rglob("*.py") if path.name != "conftest.py"]
    assert len(names) == len(set(names)), [name for name in names if names.count(name) > 1]
