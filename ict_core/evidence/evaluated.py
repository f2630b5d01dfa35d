"""Results of one model's graded answers: pass@k by benchmark and on their average, with intervals over problems."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ict_core.evidence.collect import count_grades
from ict_core.statistics.intervals import Estimate, Floats, over_problems, wilson
from ict_core.statistics.metrics import metric_values
from ict_core.statistics.schemas import AVERAGE


def benchmark_results(grades: pd.DataFrame, benchmarks: Sequence[str], samples: int) -> dict[str, dict[str, Any]]:
    """pass@k for k of 1, 4 and ``samples``, for each of ``benchmarks`` and, if they are several, for ``average``.

    ``grades`` is a frame of ``records.GRADES``, as for a study's base model. Each pass@k has its standard error
    (``_stderr``) and the limits of its 95 % interval for new problems of this kind (``_low``, ``_high``): Wilson's with
    one graded answer per problem, else Student's t over problems on the logit scale. Missing numbers are None.
    ``n-samples`` are the answers that could be graded, ``problems`` those that have one. The answers in ``ungraded``
    are not wrong, and enter no pass@k; of a problem with n < k graded answers it is pass@n.
    """
    counts = count_grades(grades)
    metrics = [f"pass@{k}" for k in sorted({k for k in (1, 4, samples) if k <= samples})]
    blocks: dict[str, list[Floats]] = {metric: [] for metric in metrics}
    results: dict[str, dict[str, Any]] = {}
    for name in benchmarks:
        rows = counts[counts["benchmark"] == name]
        graded = rows[rows["n"] > 0]
        results[name] = {}
        for metric in metrics:
            values = metric_values(metric, graded["n"], graded["correct"])
            blocks[metric].append(values)
            results[name] |= _told(metric, [values], yes_or_no=bool((graded["n"] == 1).all()))
        results[name] |= {
            "problems": len(graded),
            "n-samples": int(rows["n"].sum()),
            "ungraded": int(rows["sampled"].sum() - rows["n"].sum()),
            "truncated": float(rows["truncated"].sum() / rows["sampled"].sum()),
        }
    if len(benchmarks) > 1:
        results[AVERAGE] = {}
        for metric, of_benchmarks in blocks.items():
            results[AVERAGE] |= _told(metric, of_benchmarks)
    return results


def _told(metric: str, blocks: list[Floats], yes_or_no: bool = False) -> dict[str, float | None]:
    if not all(map(len, blocks)):  # no answer could be graded
        return dict.fromkeys((metric, f"{metric}_stderr", f"{metric}_low", f"{metric}_high"))
    level: Estimate = wilson(blocks[0]) if yes_or_no else over_problems(blocks).of_share()
    numbers = {"": level.mean, "_stderr": level.se, "_low": level.low, "_high": level.high}
    return {metric + ending: None if np.isnan(value) else float(value) for ending, value in numbers.items()}


def result_lines(results: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """The rows of a table: benchmark, every pass@k in percent with its interval, numbers of problems and answers."""
    metrics = [key for key in next(iter(results.values())) if key.startswith("pass@") and "_" not in key]

    def cell(row: Mapping[str, Any], metric: str) -> str:
        low, high = row[f"{metric}_low"], row[f"{metric}_high"]
        limits = "" if low is None or high is None else f" [{100 * low:.1f}, {100 * high:.1f}]"
        return "—" if row[metric] is None else f"{100 * row[metric]:.1f}{limits}"

    rows = []
    for name, row in results.items():
        counts = [str(row.get(key, "—")) for key in ("problems", "n-samples")]
        rows.append([name, *(cell(row, metric) for metric in metrics), *counts])
    return [["benchmark", *metrics, "problems", "answers"], *rows]
