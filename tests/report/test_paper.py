"""The paper's figures and tables, by its numbers."""

from pathlib import Path

import pandas as pd
import pytest

from ict_core.figures import split
from ict_core.report import PAPER_FIGURES
from ict_core.report._paper import PAPER_TABLES, _missing, _table
from ict_core.store._layout import PAPER_FIGURES as NAMES
from ict_core.tables import read_paper

PAPER = read_paper(Path(__file__).parents[2] / "configs" / "paper.yaml")
MIRRORS = {"mini-word": "GSM8K", "mini-symbolic": "MATH-500"}


def levels():
    rows = [
        ("tiny", variant, benchmark, metric, mean + more, mean + more - 0.01, mean + more + 0.01)
        for variant, mean in (("base", 0.1), ("grpo", 0.2), ("ict-10", 0.3))
        for benchmark in (*MIRRORS, "average")
        for metric, more in (("pass@1", 0.0), ("pass@4", 0.4), ("total", 0.2))
    ]
    return pd.DataFrame(rows, columns=["model", "variant", "benchmark", "metric", "mean", "low", "high"])


def lines(name):
    table = next(table for table in PAPER_TABLES if table.name == name)
    return _table(table, levels(), MIRRORS, PAPER).splitlines()


def test_table_1_has_a_column_a_benchmark_and_the_papers_averages_by_hand():
    shown = lines("Table 1")
    assert shown[0] == "| model | method | mini-word (GSM8K) | mini-symbolic (MATH-500) | average |"
    cell = "10.0 ± 1.0 / 50.0 ± 1.0 / 30.0 ± 1.0"
    assert shown[2] == f"| tiny | `base` | {cell} | {cell} | {cell} |"
    assert "| the paper, 1.5B | `ict-10` | — | — | 21.93 / 36.53 / 29.23 |" in shown
    assert len(shown) == 2 + 3 + 3 * 5  # what was run, and three sizes of the paper


def test_the_ablation_of_the_share_is_on_the_stand_in_of_gsm8k_beside_the_papers():
    shown = lines("Ablation of the share")
    assert shown[0] == "| model | method | mini-word (GSM8K) |"
    assert shown[3] == "| tiny | `grpo` | 20.0 ± 1.0 / 60.0 ± 1.0 |"
    assert "| the paper, 1.5B | `random-10` | 63.65 / — |" in shown


def test_what_a_study_has_not_run_is_named():
    assert _missing(("grpo", "frequent-90"), {"grpo"}) == "Without `frequent-90`: not run in this study.\n"
    assert _missing(("grpo",), {"grpo"}) == ""
    assert lines("Ablation of the warm-up") == []


def test_every_figure_that_the_paper_draws_from_data_is_there():
    assert [figure.stem for figure in PAPER_FIGURES] == list(NAMES)
    assert [(figure.number, figure.stem) for figure in PAPER_FIGURES] == [
        ("1", "figure-1"),
        ("3", "figure-3"),
        ("4", "figure-4"),
        ("A.4.1", "figure-a-4-1"),
    ]


def test_the_ratio_of_high_to_low_entropy_by_hand():
    shares = [0.5, 0.6, 0.4]
    rows = [("tiny", "ict-10", seed, "high_entropy_share_of_kept", share) for seed, share in enumerate(shares)]
    frame = pd.DataFrame(rows, columns=["model", "variant", "seed", "quantity", "value"])
    half = 4.302652729911275 * 0.1 / 3**0.5  # t of 2 degrees of freedom
    mean = frame[:1].assign(mean=0.5, low=0.5 - half, high=0.5 + half, seeds=3)
    axis = split.draw(frame, mean, ["ict-10"]).axes[0]
    interval, runs, mean, *papers = axis.lines
    assert runs.get_xdata() == pytest.approx([1.0, 1.5, 0.4 / 0.6])
    assert mean.get_xdata() == pytest.approx([1.0])
    assert interval.get_xdata() == pytest.approx([(0.5 - half) / (0.5 + half), (0.5 + half) / (0.5 - half)])
    assert [line.get_xdata()[0] for line in papers] == [1.03, 0.99]
