"""What several modules need to know stands in one of them."""

import ast
from pathlib import Path

import pytest

from ict_core.statistics import ALPHA, FAMILIES, METRICS, SIGN_FLIP_FROM
from ict_core.tables import TABLES

CORE = Path(__file__).parents[2] / "ict_core"
NAMES = {"metrics": METRICS, "families": FAMILIES}


def lists_of(names) -> set[str]:
    """The modules that write out two or more of these names one after another."""
    found = set()
    for file in CORE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Tuple | ast.List | ast.Set):
                written = [element.value for element in node.elts if isinstance(element, ast.Constant)]
                if len(written) == len(node.elts) > 1 and set(written) <= set(names):
                    found.add(file.relative_to(CORE).as_posix())
    return found


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_names_are_listed_where_the_frames_are_declared(names):
    others = {"config/_validity.py"} if names is METRICS else set()  # below the statistics: what a file may hold
    assert lists_of(names) == {"statistics/_schemas.py"} | others


def test_no_other_module_has_the_level_of_the_tests():
    assigned = set()
    for file in CORE.rglob("*.py"):
        for node in ast.parse(file.read_text()).body:
            value = node.value if isinstance(node, ast.Assign) else None
            if isinstance(value, ast.Constant) and value.value == ALPHA:
                assigned |= {(file.name, ast.unparse(target)) for target in node.targets}
    assert assigned == {("_schemas.py", "ALPHA"), ("_single_logit.py", "BREAKS")}  # the latter a share of tokens


def test_what_is_said_of_a_contrast_s_test_follows_the_seeds_from_which_it_decides():
    assert f" {SIGN_FLIP_FROM} seeds" in TABLES["contrasts"].words
