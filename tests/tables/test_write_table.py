import re

import pandas as pd
import pytest

from ict_core.tables.write import Table, latex, latex_escape, markdown, write

NUMBERS = pd.DataFrame({"model": ["a_b", "a_b"], "mean": [1 / 3, float("nan")]})
SHOWN = pd.DataFrame(
    {
        "model": ["a_b", "a_b", "c"],
        "metric": ["pass@1", "pass@1", "pass@1"],
        "kept %": ["100", "—", "5"],
        "mean": ["23.4 ± 3.1ᵃ⁺", "−2.0 ± —", "<0.1"],
        "verdict": ["not resolved", "50 % & more | less", "~^\\"],
    }
)
TABLE = Table("main", NUMBERS, SHOWN, "Rates of `a_b`, 95 % {exactly} #1 $2.", keys=2)


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


def test_latex_is_balanced_and_escaped():
    source = latex(TABLE, "A 100 % miniature_study.")
    assert balanced(source)
    assert source.isascii()
    unescaped = re.sub(r"\\[%&_#$]", "", source)
    assert "%" not in unescaped and "#" not in unescaped
    assert "_" not in unescaped
    rows = re.search(r"\\toprule(.*)\\bottomrule", source, re.DOTALL)[1].split(r"\\")[:-1]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [4] * 4
    assert source.count("$") % 2 == 0 or r"\$" in source
    assert r"\texttt{a\_b}" in source and r"\textbf{A 100 \% miniature\_study.}" in source


def test_latex_signs():
    assert latex_escape("23.4 ± 3.1ᵃ⁺") == r"23.4 $\pm$ 3.1\textsuperscript{a}\textsuperscript{+}"
    assert latex_escape("−2 — <") == r"$-$2 --- $<$"
    assert latex_escape("~^\\") == r"\textasciitilde{}\textasciicircum{}\textbackslash{}"


def test_latex_groups_and_alignment():
    source = latex(TABLE)
    assert r"\begin{tabular}{llrrl}" in source
    body = source[source.index(r"\midrule") + len(r"\midrule") :]
    assert body.count(r"\midrule") == 1 and r"\addlinespace" not in body
    assert "\n &  & --- &" in body  # the repeated keys are blank


def test_markdown():
    text = markdown(TABLE, "A miniature.")
    lines = text.splitlines()
    assert lines[0] == TABLE.caption and lines[2] == "**A miniature.**"
    assert lines[4] == "| model | metric | kept % | mean | verdict |"
    assert lines[5] == "| :-- | :-- | --: | --: | :-- |"
    assert lines[7] == "|  |  | — | −2.0 ± — | 50 % & more \\| less |"
    assert "**" not in markdown(TABLE)


def test_writes_three_files_with_full_precision(tmp_path):
    paths = write(TABLE, tmp_path / "new", "A miniature.")
    assert [p.name for p in paths] == ["main.csv", "main.md", "main.tex"]
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["main.csv", "main.md", "main.tex"]
    pd.testing.assert_frame_equal(pd.read_csv(paths[0]), NUMBERS, check_exact=True)
    assert paths[0].read_bytes().startswith(b"model,mean\na_b,0.3333333333333333\n")


@pytest.mark.parametrize("shape", [(41, 3), (3, 11)])
def test_large_tables_are_set_smaller(shape):
    shown = pd.DataFrame([["1"] * shape[1]] * shape[0], columns=[f"c{i}" for i in range(shape[1])])
    assert r"\scriptsize" in latex(Table("x", NUMBERS, shown, "", keys=1))
    assert r"\scriptsize" not in latex(TABLE)
