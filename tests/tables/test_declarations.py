"""Each declared figure and table has its function and known frames, and computes no statistic."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from ict_core.evidence.stored import MEASURED
from ict_core.figures.registry import FIGURES, reads
from ict_core.statistics.schemas import STATISTICS as MADE
from ict_core.tables.registry import INPUTS, TABLES

CORE = Path(__file__).parents[2] / "ict_core"
SHOWN = sorted([*(CORE / "figures").glob("*.py"), *(CORE / "tables").glob("*.py")])
ALL = None
ALLOWED = {  # what is shown may know of what computes: words, constants, and closed forms of which no data are a part
    "ict_core.statistics.schemas": ALL,
    "ict_core.statistics.pairing": ALL,
    "ict_core.statistics.metrics": {"ungraded"},
    "ict_core.statistics.deciding": {"BETTER", "IDENTICAL", "WORSE", "detectable"},  # of a design, no test of data
    "ict_core.evidence.bench": {"BENCH_METRIC", "MEAN_ONE", "SAME_SIGN", "bench_controls", "controls_of", "rule_arms"},
    "ict_core.evidence.gates": {"FAILED", "KEPT", "without_verdicts"},  # of a frame, in words
    "ict_core.evidence.validity": {"DETECTABLE", "RATE"},
    "ict_core.evidence.stored": ALL,
    "ict_core.evidence.measures": {"CHANCE", "OWN", "QUANTITIES", "RULE_QUANTITIES", "WHEN", "kept_weight"},
    "ict_core.evidence.tuning": {"BASE_RATE", "remarks"},  # what is said of a rate, in words
    "ict_core.theory.bound": ALL,
    "ict_core.theory.single_logit": {"DRAWS", "LEAST", "RANDOM", "RATIOS", "SIZES", "turning_shift"},
    "ict_core.theory.update": {"LESS_CHANCE"},
}
COMPUTING = re.compile(r"(scipy|statsmodels|ict_core\.(statistics|evidence|theory))(\.|$)")
SPREADS = {"std", "var", "sem", "quantile", "percentile", "nanstd", "nanvar", "nanquantile", "nanpercentile"}


@pytest.mark.parametrize("file", SHOWN, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_no_table_and_no_figure_computes_an_interval_or_a_test(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            assert not [alias.name for alias in node.names if COMPUTING.match(alias.name)]
        elif isinstance(node, ast.ImportFrom) and COMPUTING.match(str(node.module)):
            for alias in node.names:
                assert node.module in ALLOWED
                assert ALLOWED[node.module] is ALL or alias.name in ALLOWED[node.module]
        elif isinstance(node, ast.Attribute):
            assert node.attr not in SPREADS


def test_each_declaration_has_its_function():
    for name in FIGURES:
        assert callable(import_module(f"ict_core.figures.{name}").draw)
    for name in TABLES:
        assert callable(getattr(import_module(f"ict_core.tables.{name}"), f"{name}_table"))


def test_every_input_is_a_frame_and_every_frame_of_the_statistics_is_an_output():
    known = {*MEASURED, *MADE}
    assert {frame for name in FIGURES for frame in reads(name)} | set(INPUTS) <= known
    assert {table.statistics for table in TABLES.values()} - {None} <= set(MADE)


def test_titles_and_inputs_are_read_without_what_takes_time_to_import():
    heavy = "{'matplotlib', 'numpy', 'pandas', 'pyarrow', 'scipy'} & set(sys.modules)"
    command = f"import sys, ict_core.jobs, ict_core.figures.registry, ict_core.tables.registry; assert not {heavy}"
    subprocess.run([sys.executable, "-c", command], check=True)
