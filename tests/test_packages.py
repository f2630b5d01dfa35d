"""What holds of names: a module whose name begins with an underscore is its package's own; lists name what is there."""

import ast
from pathlib import Path
from pkgutil import resolve_name

import yaml

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


def test_every_mutant_that_is_called_equivalent_is_of_a_function_and_has_a_reason():
    listed = yaml.safe_load((LIBRARY.parent / "scripts/equivalent_mutants.yaml").read_text(encoding="utf-8"))
    for mutant in listed:
        assert callable(resolve_name(mutant["in"])) and mutant["why"] and mutant["line"] == mutant["line"].strip()
    assert len({(mutant["in"], mutant["line"]) for mutant in listed}) == len(listed)
