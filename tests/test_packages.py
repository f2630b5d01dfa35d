"""A module whose name begins with an underscore is its package's own."""

import ast
from pathlib import Path

LIBRARY = Path(__file__).parents[1] / "ict_core"


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
