import re

import pandas as pd
import pytest

from ict_core.tables._frames import Table
from ict_core.tables._write import ROWS, latex, latex_escape

SHOWN = pd.DataFrame(
    {
        "model": ["a_b", "a_b", "c"],
        "metric": ["pass@1", "pass@1", "pass@1"],
        "kept %": ["100", "—", "5"],
        "mean": ["23.4 ± 3.1ᵃ⁺", "−2.0 ± —", "<0.1"],
        "verdict": ["not resolved", "50 % & more | less", "~^\\[x]*"],
    }
)
CAPTION = "Rates of `a_b`, 95 % {exactly} #1 $2."
TABLE = Table("main", pd.DataFrame(), SHOWN, CAPTION, keys=2, title="Main results")


def sized(rows, columns=3, keys=1, groups=1):
    """A table of `groups` groups of equal size."""
    shown = pd.DataFrame({f"c{i}": ["1"] * rows for i in range(columns)})
    shown["c0"] = [f"g{i * groups // rows}" for i in range(rows)]
    return Table("x", pd.DataFrame(), shown, "Long.", keys=keys, title="T")


def balanced(source):
    """Whether environments and unescaped braces nest."""
    stack = []
    for what, name in re.findall(r"\\(begin|end)\{([^}]*)\}", source):
        if what == "begin":
            stack.append(name)
        elif not stack or stack.pop() != name:
            return False
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", source):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return not stack and depth == 0


def test_is_balanced_and_escaped():
    source = latex(TABLE, "A 100 % miniature_study.")
    assert balanced(source) and source.isascii()
    unescaped = re.sub(r"\\[%&_#$]", "", source).replace("}%\n", "}\n")
    assert "%" not in unescaped and "#" not in unescaped and "_" not in unescaped
    rows = re.search(r"\\toprule(.*)\\bottomrule", source, re.DOTALL)[1].split(r"\\")[:-1]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [4] * 4
    assert r"\texttt{a\_b}" in source and r"\textbf{A 100 \% miniature\_study.}" in source
    assert r"\caption[Main results]{\textbf{Main results.} Rates of" in source


def test_signs():
    assert latex_escape("23.4 ± 3.1ᵃ⁺") == r"23.4 $\pm$ 3.1\textsuperscript{a}\textsuperscript{+}"
    assert latex_escape("⁽ᵇ⁻⁾").count(r"\textsuperscript") == 4
    assert latex_escape("−2 — < ≥ × Δ") == r"$-$2 --- $<$ $\geq$ $\times$ $\Delta$"
    assert latex_escape("~^\\") == r"\textasciitilde{}\textasciicircum{}\textbackslash{}"


def test_a_cell_is_no_argument_of_the_line_break_above_it():
    source = latex(Table("x", pd.DataFrame(), pd.DataFrame({"a": ["[1, 2]", "*"]}), "", keys=0))
    assert "\n{[}1, 2{]} \\\\" in source and "\n{*} \\\\" in source


def test_groups_and_alignment():
    source = latex(TABLE)
    assert r"\begin{tabular}{llrrl}" in source
    body = source[source.index(r"\midrule") + len(r"\midrule") :]
    assert body.count(r"\midrule") == 1 and r"\addlinespace" not in body
    assert "\n &  & --- &" in body  # the repeated keys are blank


@pytest.mark.parametrize("shape", [(41, 3), (3, 11)])
def test_large_tables_are_set_smaller(shape):
    assert r"\scriptsize" in latex(sized(*shape))
    assert r"\scriptsize" not in latex(TABLE)


def test_a_wide_heading_over_narrow_cells_is_broken():
    shown = pd.DataFrame({"model": ["a"], "seeds needed for it": ["3"]})
    source = latex(Table("x", pd.DataFrame(), shown, "", keys=1))
    assert r"\begin{tabular}[b]{@{}r@{}}seeds needed \\ for it\end{tabular}" in source


def test_a_long_table_is_cut_where_a_group_begins():
    source = latex(sized(100, groups=5), "Note.")  # groups of 20: 60 and 40
    parts = source.split(r"\begin{table*}")[1:]
    assert [part.count(" & 1 & 1 ") for part in parts] == [60, 40]
    assert [re.search(r"\\label\{(.*)\}", part)[1] for part in parts] == ["tab:x", "tab:x-2"]
    assert "T, part 1 of 2." in parts[0] and "T, part 2 of 2." in parts[1]
    assert "Long." in parts[0] and "Long." not in parts[1]
    assert all("Note." in part and part.count("\ng") == len(set(re.findall(r"\ng(\d)", part))) for part in parts)
    assert balanced(source)


@pytest.mark.parametrize(("rows", "sizes"), [(ROWS, [ROWS]), (ROWS + 1, [ROWS, 1]), (3 * ROWS, [ROWS] * 3)])
def test_one_long_group_is_cut_all_the_same(rows, sizes):
    parts = latex(sized(rows)).split(r"\begin{table*}")[1:]
    assert [part.count(" & 1 & 1 ") for part in parts] == sizes
