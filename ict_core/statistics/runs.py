"""From problems to runs: the frame on which every interval and test stands.

A frame of runs has the columns of :data:`RUNS`, one row a (model, variant, seed, benchmark, k); `pass_at_k` is a share
in [0, 1]. A benchmark named :data:`AVERAGE` is the macro-average: every benchmark weighs the same, whatever its size.
"""

from collections.abc import Sequence

import pandas as pd

from ict_core.errors import UserError
from ict_core.statistics.pass_at_k import pass_at_k

BASE = "base"  # the untrained model: evaluated once, no training seeds
AVERAGE = "average"
CELL = ["model", "variant", "seed"]
RUNS = [*CELL, "benchmark", "k", "pass_at_k"]


def _cell(row: pd.Series) -> str:
    return f"{row['model']}/{row['variant']}/seed-{row['seed']}"


def _check_complete(scores: pd.DataFrame) -> None:
    """Every cell of a model has every problem of that model's other cells, once."""
    if scores.empty:
        raise UserError("scores: no rows; evaluate at least one cell")
    problem = ["benchmark", "problem"]
    again = scores[scores.duplicated([*CELL, *problem])]
    if not again.empty:
        row = again.iloc[0]
        raise UserError(f"scores: {_cell(row)} has problem {row['problem']} of {row['benchmark']} more than once")
    for _, of_model in scores.groupby("model", sort=False):
        wanted = pd.MultiIndex.from_frame(of_model[problem].drop_duplicates())
        for _, of_cell in of_model.groupby(CELL, sort=False):
            if len(of_cell) == len(wanted):
                continue
            missing = [f"{p} of {b}" for b, p in wanted.difference(pd.MultiIndex.from_frame(of_cell[problem]))]
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            raise UserError(
                f"scores: {_cell(of_cell.iloc[0])} lacks problem {', '.join(missing[:3])}{more}, "
                "which other cells of its model have; evaluate it again"
            )


def _powers_of_two(largest: int) -> list[int]:
    """1, 2, 4, ... up to `largest`; 1 at least, so that a problem without any graded sample is found and named."""
    return [2**i for i in range(max(largest, 1).bit_length())]


def run_frame(scores: pd.DataFrame, ks: Sequence[int] | None = None) -> pd.DataFrame:
    """Pass@k of every run on every benchmark and on their macro-average.

    Problems are averaged within a benchmark, then benchmarks within a run. Only graded samples count (`n`): an
    ungraded one is neither right nor wrong.

    Args:
        scores: a frame of `records.SCORES`.
        ks: the k wanted, at least one; by default 1, 2, 4, ... up to the smallest n.

    Returns:
        A frame of :data:`RUNS`; models, variants and benchmarks in the order of `scores`, the average last.

    Raises:
        UserError: no rows, a cell that lacks a problem (named) or has it twice, or a problem with n < k (named).
    """
    _check_complete(scores)
    wanted = list(ks) if ks is not None else _powers_of_two(int(scores["n"].min()))
    short = scores[scores["n"] < max(wanted)]
    if not short.empty:
        row = short.iloc[0]
        raise UserError(
            f"scores: {_cell(row)}, problem {row['problem']} of {row['benchmark']}: {row['n']} graded samples "
            f"({row['sampled']} drawn) are too few for pass@{max(wanted)}; draw more or mend the grading"
        )
    keys = [*CELL, "benchmark"]
    by_k = [scores[keys].assign(k=k, pass_at_k=pass_at_k(scores["n"], scores["correct"], k)) for k in wanted]
    benchmarks = pd.concat(by_k).groupby([*keys, "k"], sort=False, as_index=False)["pass_at_k"].mean()
    average = benchmarks.groupby([*CELL, "k"], sort=False, as_index=False)["pass_at_k"].mean()
    return pd.concat([benchmarks, average.assign(benchmark=AVERAGE)], ignore_index=True)[RUNS]


def by_seed(runs: pd.DataFrame, model: str, variant: str, benchmark: str, k: int) -> pd.Series:
    """Pass@k of one arm, shape (seeds,), indexed by seed and named for messages.

    Raises:
        UserError: the model was not evaluated under the variant.
    """
    arm = runs[(runs["model"] == model) & (runs["variant"] == variant)]
    if arm.empty:
        raise UserError(f"scores: no run of {model}/{variant}; run its cells or take it out of the study")
    arm = arm[(arm["benchmark"] == benchmark) & (arm["k"] == k)]
    return arm.set_index("seed")["pass_at_k"].rename(f"{model}/{variant}")


def shown_variants(frame: pd.DataFrame, model: str, variants: Sequence[str]) -> list[str]:
    """The variants that a model ran, in the order in which they are shown: base first, then as given.

    Args:
        frame: scores or runs. A study may run a variant on some of its models only.

    Raises:
        UserError: a variant that no model ran.
    """
    absent = sorted(set(variants) - {BASE} - set(frame["variant"]))
    if absent:
        raise UserError(f"scores: no run of {', '.join(absent)}; run the cells or take the variant out of the study")
    ran = set(frame.loc[frame["model"] == model, "variant"])
    return [v for v in dict.fromkeys([BASE, *variants]) if v in ran]
