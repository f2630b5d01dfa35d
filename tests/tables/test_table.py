"""How a table's numbers are printed, and its three forms."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt

from ict_core.tables.table import Table, p_value, percent, percent_interval, value_text
from ict_core.tables.write import csv, latex, markdown, write

NAN = float("nan")
NUMBERS = pd.DataFrame({"model": ["a_b", "a_b"], "mean": [1 / 3, NAN]})
READABLE = pd.DataFrame(
    {
        "model": ["a_b", "a_b", "c"],
        "metric": ["pass@1", "pass@1", "pass@1"],
        "kept %": ["100", "—", "5"],
        "mean": ["23.4 ± 3.1ᵃ⁺", "−2.0 ± —", "<0.1"],
        "verdict": ["not resolved", "50 % & more | less", "*~^\\[x] <b>"],
    }
)
CAPTION = "Rates of `a_b`, 95 % {exactly} #1 $2."
TABLE = Table(NUMBERS, READABLE, CAPTION, 2, "main", "Main results")


@pytest.mark.parametrize(
    ("share", "text"), [(0.2345, "23.4"), (0.0, "0.0"), (-0.0001, "0.0"), (-0.25, "−25.0"), (1.0, "100.0"), (NAN, "—")]
)
def test_percent(share, text):
    assert percent(share) == text


@pytest.mark.parametrize("value", [0.125, 0.1225, 0.3335])
def test_the_last_bit_of_a_number_does_not_change_its_text(value):
    texts = {percent(value * (1 + bits * 2.2e-16)) for bits in (-2, -1, 0, 1, 2)}
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("limits", "signed", "text"),
    [
        ((0.234, 0.203, 0.265), False, "23.4 ± 3.1"),
        ((-0.02, -0.05, 0.01), True, "−2.0 ± 3.0"),
        ((0.1, 0.02, 0.35), False, "10.0 (2–35)"),
        ((0.1, -0.2, 0.186), True, "+10.0 (−20.0 to +18.6)"),
        ((0.1, 0.02, 0.184), False, "10.0 ± 8.2"),  # sides of 8.0 and 8.4 points
        ((0.234, NAN, NAN), False, "23.4 ± —"),
        ((NAN, NAN, NAN), False, "—"),
    ],
)
def test_an_interval_is_its_half_width_or_its_limits_where_it_is_not_symmetric(limits, signed, text):
    assert percent_interval(*limits, signed=signed) == text


def test_p_values_and_gates():
    assert [p_value(p) for p in (0.0004, 0.0123, 1.0, NAN)] == ["<0.001", "0.012", "1.000", "—"]
    assert value_text("gain", -0.02, NAN, NAN) == "−2.0"


def test_writes_three_files_that_appear_whole(tmp_path):
    paths = write(TABLE, tmp_path / "new", "A miniature.")
    assert paths == [tmp_path / "new" / f"main.{ending}" for ending in ("csv", "md", "tex")]
    assert sorted((tmp_path / "new").iterdir()) == sorted(paths)
    assert paths[0].read_bytes() == b"model,mean\na_b,0.3333333333\na_b,\n"
    assert all("A miniature." in path.read_text() for path in paths[1:])
    marked = pd.read_csv(write(TABLE, tmp_path, mixed="Mixed (a.py, b.py).")[0])
    assert set(marked["mixed"]) == {"Mixed (a.py, b.py)."}


def test_the_last_bit_of_a_float_does_not_change_the_csv():
    values = np.array([1 / 3, 0.1, 0.7, 123.456])
    texts = {csv(pd.DataFrame({"x": v, "n": 3})) for v in (values, np.nextafter(values, 1e9), np.nextafter(values, 0))}
    assert len(texts) == 1 and re.search(r"^0\.7,3$", texts.pop(), re.MULTILINE)


def test_rounding_noise_is_zero_but_a_small_p_is_kept():
    numbers = pd.DataFrame({"difference": [-2.8e-17], "p": [1e-14], "p_adjusted": [2e-14]})
    assert csv(numbers) == "difference,p,p_adjusted\n0,1e-14,2e-14\n"
    assert numbers["difference"][0] == -2.8e-17  # the frame itself is left as it was


def rendered(text):
    return MarkdownIt("commonmark").enable("table").render(text)


def test_markdown():
    lines = markdown(TABLE, "A miniature.").splitlines()
    assert lines[0] == TABLE.caption and lines[2] == "**A miniature.**"
    assert lines[4] == "| model | metric | kept % | mean | verdict |"
    assert lines[5] == "| :-- | :-- | --: | --: | :-- |"
    assert lines[7] == "|  |  | — | −2.0 ± — | 50 % & more \\| less |"  # the repeated keys are blank
    assert "**" not in markdown(TABLE)


def test_every_cell_of_markdown_is_shown_as_it_is():
    page = rendered(markdown(TABLE, "Run 2*3 of a_b"))
    cells = ["a_b", "&lt;0.1", "50 % &amp; more | less", "*~^\\[x] &lt;b&gt;", "23.4 ± 3.1ᵃ⁺"]
    assert all(f">{cell}</td>" in page for cell in cells)
    assert "<em>" not in page and "<b>" not in page and "<strong>Run 2*3 of a_b</strong>" in page


def of_cells(*cells, head="a"):
    return Table(pd.DataFrame(), pd.DataFrame({head: cells}), "", 0)


def sized(rows, columns=3, groups=1):
    """A table of `groups` groups of equal size."""
    readable = pd.DataFrame({f"c{i}": ["1"] * rows for i in range(columns)})
    readable["c0"] = [f"g{i * groups // rows}" for i in range(rows)]
    return Table(pd.DataFrame(), readable, "Long.", 1, "x", "T")


def balanced(source):
    """Whether environments and unescaped braces nest."""
    stack = []
    for what, name in re.findall(r"\\(begin|end)\{([^}]*)\}", source):
        if what == "begin":
            stack.append(name)
        elif not stack or stack.pop() != name:
            return False
    braces = re.findall(r"(?<!\\)[{}]", source)
    depths = np.cumsum([1 if brace == "{" else -1 for brace in braces])
    return not stack and depths[-1] == 0 and depths.min() >= 0


def test_latex_is_balanced_and_escaped():
    source = latex(TABLE, "A 100 % miniature_study.")
    assert balanced(source) and source.isascii()
    unescaped = re.sub(r"\\[%&_#$]", "", source).replace("}%\n", "}\n")
    assert "%" not in unescaped and "#" not in unescaped and "_" not in unescaped
    rows = re.search(r"\\toprule(.*)\\bottomrule", source, re.DOTALL)[1].split(r"\\")[:-1]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [4] * 4
    assert r"\texttt{a\_b}" in source and r"\textbf{A 100 \% miniature\_study.}" in source
    assert r"\caption[Main results]{\textbf{Main results.} Rates of" in source
    assert r"\begin{tabular}{llrrl}" in source and "\n &  & --- &" in source  # the repeated keys are blank


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("23.4 ± 3.1ᵃ⁺", r"23.4 $\pm$ 3.1\textsuperscript{a}\textsuperscript{+}"),
        ("−2 — < ≥ × Δ", r"$-$2 --- $<$ $\geq$ $\times$ $\Delta$"),
        ("~^\\", r"\textasciitilde{}\textasciicircum{}\textbackslash{}"),
        ("[1, 2]", "{[}1, 2{]}"),  # no argument of the line break above it
        ("↑↓≈∞“a”", r"$\uparrow$$\downarrow$$\approx$$\infty$\textquotedblleft{}a\textquotedblright{}"),
        ("é↵漢′ħ", r"é$\hookleftarrow$U+6F22$'$U+0127"),  # what the fonts lack is told by its number
    ],
)
def test_signs_in_latex(text, source):
    assert f"\n{source} \\\\" in latex(of_cells(text))


def test_a_long_table_is_cut_where_a_group_begins():
    source = latex(sized(100, groups=5), "Note.")  # groups of 20: 60 and 40
    parts = source.split(r"\begin{table*}")[1:]
    assert [part.count(" & 1 & 1 ") for part in parts] == [60, 40]
    assert [re.search(r"\\label\{(.*)\}", part)[1] for part in parts] == ["tab:x", "tab:x-2"]
    assert "T, part 1 of 2." in parts[0] and "T, part 2 of 2." in parts[1]
    assert "Long." in parts[0] and "Long." not in parts[1]
    assert all("Note." in part and part.count("\ng") == len(set(re.findall(r"\ng(\d)", part))) for part in parts)
    assert balanced(source)


def test_a_text_is_no_formula_of_a_spreadsheet():
    formulas = ["=1+A1", "+cmd", "-x", "@SUM", " =a", "\t=a", '="a"']
    texts = ["-1", "+1.5", "-1/2", "=", "--", "a=b", "", *formulas]
    rows = pd.read_csv(io.StringIO(csv(pd.DataFrame({"text": texts, "n": -1}))), keep_default_na=False)
    expected = [*texts[:-7], *(f"'{text}" for text in formulas)]
    assert rows["text"].tolist() == [text.replace("\t", "\\t") for text in expected] and set(rows["n"]) == {-1}
