"""The results of `ict eval`."""

import pandas as pd

from ict_core.evidence.evaluated import benchmark_results, result_lines
from ict_core.statistics.schemas import AVERAGE


def test_a_benchmark_without_a_graded_answer_has_no_numbers_and_no_average_has_it():
    rows = [(b, "p", k, status) for b, status in (("a", "correct"), ("b", "timeout")) for k in range(2)]
    grades = pd.DataFrame(rows, columns=["benchmark", "problem", "sample", "status"])
    grades = grades.assign(extracted="", finish_reason="stop", tokens=3)
    found = benchmark_results(grades, ["a", "b"], samples=2)
    assert (found["a"]["pass@1"], found["b"]["pass@1"], found[AVERAGE]["pass@1"]) == (1.0, None, None)
    assert (found["b"]["n-samples"], found["b"]["ungraded"]) == (0, 2)
    assert len(result_lines(found)) == 4
