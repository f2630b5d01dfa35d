"""The results of `ict eval`."""

import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from ict_core.evidence.evaluated import benchmark_results, result_lines
from ict_core.statistics.schemas import AVERAGE


def graded(rows):
    grades = pd.DataFrame(rows, columns=["benchmark", "problem", "sample", "status"])
    return grades.assign(extracted="", finish_reason="stop", tokens=3)


def test_a_benchmark_without_a_graded_answer_has_no_numbers_and_no_average_has_it():
    rows = [(b, "p", k, status) for b, status in (("a", "correct"), ("b", "timeout")) for k in range(2)]
    found = benchmark_results(graded(rows), ["a", "b"], samples=2)
    assert (found["a"]["pass@1"], found["b"]["pass@1"], found[AVERAGE]["pass@1"]) == (1.0, None, None)
    assert [(found[b]["problems"], found[b]["n-samples"], found[b]["ungraded"]) for b in "ab"] == [(1, 2, 0), (0, 0, 2)]
    assert len(result_lines(found)) == 4


def test_one_answer_per_problem_has_wilsons_interval_whatever_could_not_be_graded():
    rows = [("a", f"p{number}", 0, "correct" if number < 7 else "wrong") for number in range(10)]
    found = benchmark_results(graded([*rows, ("a", "p10", 0, "timeout")]), ["a"], samples=1)["a"]
    low, high = proportion_confint(7, 10, method="wilson")
    assert (found["pass@1_low"], found["pass@1_high"]) == pytest.approx((low, high), abs=1e-12)
