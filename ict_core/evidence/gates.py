"""Gates: conditions without which a study cannot tell rules apart. They never use a rule under test.

They are about the base model, the baseline, its replica, random tokens and the oracle. If a gate fails in a model,
nothing can be concluded from that model's comparisons, whatever they show.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ict_core.config.study_file import Validity
from ict_core.evidence.values import differences_of, together
from ict_core.statistics.deciding import p_of_strata, two_one_sided
from ict_core.statistics.intervals import Estimate, Floats, over_runs, ratio_of_means, with_shared, without_spread
from ict_core.statistics.schemas import ALPHA, AVERAGE, BASE, ROUNDING, Metric

PASSED, FAILED, NOT_MEASURED = "passed", "failed", "not measured"
GAIN, CEILING, KEPT, REPLICA, ORACLE = "gain", "ceiling", "kept", "replica", "oracle"
_GAINS: Metric = "pass@1"  # the metric in which learning itself is measured


class Finding(NamedTuple):
    """A row of `VALIDITY`, such as a gate in one model. Numbers are shares, a ratio for `KEPT`, or a learning rate."""

    gate: str
    model: str  # empty where no model ran its arms
    of: str  # what the value is of, in words
    arms: str = ""  # the variants whose runs enter
    value: float = math.nan
    low: float = math.nan  # of the 95 % interval over training runs
    high: float = math.nan
    p: float = math.nan  # of the deciding test, if there is one
    seeds: int = 0
    asked: str = ""  # the declared bounds, in words
    outcome: str = ""  # of a gate: PASSED, FAILED or NOT_MEASURED
    because: str = ""  # why it is not passed; empty if it is


_Decision = tuple[Estimate, float, bool]  # a value, the p of the deciding test, and whether the gate is passed


class _Plan(NamedTuple):
    """A gate before it is decided."""

    gate: str
    of: str
    asked: str
    fault: str  # what it means if the gate fails
    arms: tuple[str, ...]
    values: Mapping[str, pd.Series | pd.DataFrame]  # by model that ran the arms: one row per run
    decide: Callable[[Floats, float], _Decision]  # from these values and the variance of an error that all share


def gates(
    validity: Validity, runs: pd.DataFrame, margin: float, base: Mapping[tuple[str, str, str], float] | None = None
) -> list[Finding]:
    """Every gate in every model that the study trained; one row if no model ran its arms.

    `runs` is a frame of `statistics.schemas.RUNS`; `margin` is the study's, a share; `base` are the `base_variances`.
    """
    plans = [*_of_learning(validity, runs), *_of_comparing(validity, runs, margin)]
    ran = {str(model): set(rows["variant"]) for model, rows in runs.groupby("model", sort=False)}
    shared = {model: (base or {}).get((model, AVERAGE, _GAINS), 0.0) for model in ran}
    return [gate for plan in plans for gate in _decided(plan, ran, shared)]


def failed(found: Sequence[Finding]) -> dict[str, str]:
    """The models in which gates failed, each with its failed gates in words."""
    names: dict[str, list[str]] = {}
    for gate in found:
        if gate.outcome == FAILED:
            names.setdefault(gate.model, []).append(gate.gate)
    return {model: f"failed gates of {model}: {', '.join(of_model)}" for model, of_model in names.items()}


def without_verdicts(validity: pd.DataFrame) -> str:
    """A sentence for tables and figures: on which models verdicts do not count, as gates failed; empty if on none."""
    names = validity[validity["outcome"] == FAILED].groupby("model", sort=False)["gate"].agg(", ".join)
    models = " and ".join(f"{model} (failed gate: {gates})" for model, gates in names.items())
    return f"Verdicts on rules do not count on {models}: not testable here." if models else ""


def _decided(plan: _Plan, ran: Mapping[str, set[str]], shared: Mapping[str, float]) -> Iterator[Finding]:
    label, arms = plan.of, ", ".join(plan.arms)
    for model, values in plan.values.items():
        value, p, enough = plan.decide(values.to_numpy(np.float64), shared[model])
        mean, low, high = float(value.mean), float(value.low), float(value.high)
        because = "" if enough else _reason(plan, values.to_numpy(np.float64), low)
        outcome = PASSED if enough else FAILED
        yield Finding(plan.gate, model, label, arms, mean, low, high, p, len(values), plan.asked, outcome, because)
    others = {model: ran[model] for model in ran if model not in plan.values}
    for model, variants in (others if plan.values else {"": set().union(*ran.values())}).items():
        missing = [arm for arm in plan.arms if arm not in variants]
        because = f"without {', '.join(missing)}" if missing else f"{' and '.join(plan.arms)} have no seed in common"
        yield Finding(plan.gate, model, label, arms, asked=plan.asked, outcome=NOT_MEASURED, because=because)


def _reason(plan: _Plan, values: Floats, low: float) -> str:
    """Why a gate fails on these values; `low` is the lower limit of their interval."""
    if len(values) == 1:  # enough to see that there is no room left
        return plan.fault if plan.gate == CEILING else f"{plan.fault}, as one run cannot show it"
    if plan.gate == KEPT and math.isnan(low):
        ours, theirs = values.T
        if without_spread(ours * theirs.mean() - theirs * ours.mean()):
            return f"{plan.arms[0]} keeps the same share in every run, so the share has no interval"
        return f"the gain of {plan.arms[1]} does not differ from 0, so nothing is a share of it"
    if plan.gate == REPLICA and np.abs(values).max() <= ROUNDING:
        return f"{', '.join(plan.arms)} are the same in every run, so their random numbers are too"
    return plan.fault


def _at_least(value: Estimate, bound: float, lower: float) -> _Decision:
    """Passed if the value is at least `bound` and its lower limit above `lower`; with a limit of NaN it is not."""
    return value, math.nan, bool(value.mean >= bound - ROUNDING and value.low > lower)


def _of_learning(v: Validity, runs: pd.DataFrame) -> Iterator[_Plan]:
    """The gates on learning: the baseline learns, has room left, and still learns with few random tokens."""
    gain, random = (differences_of(runs, arm, BASE, _GAINS) for arm in (v.baseline, v.random))
    yield _Plan(
        GAIN,
        f"{v.baseline} − {BASE}, {_GAINS}",
        f"at least {v.gain_points:g} points, lower limit above {v.gain_lower_points:g}",
        f"{v.baseline} is not shown to learn enough",
        (v.baseline, BASE),
        gain,
        lambda x, shared: _at_least(
            with_shared(over_runs(x), shared).of_difference(), v.gain_points / 100, v.gain_lower_points / 100
        ),
    )
    highest = v.ceiling_percent - v.below_ceiling_points
    levels = runs[(runs["benchmark"] == AVERAGE) & (runs["metric"] == _GAINS) & (runs["variant"] == v.baseline)]
    yield _Plan(
        CEILING,
        f"{v.baseline}, {_GAINS}",
        f"at most {highest:g}: {v.below_ceiling_points:g} points below the ceiling, {v.ceiling_percent:g}",
        f"{v.baseline} ends too near the ceiling",
        (v.baseline,),
        {str(model): values for model, values in levels.groupby("model", sort=False)["value"]},
        lambda x, _: (over_runs(x).of_share(), math.nan, bool(x.mean() <= highest / 100 + ROUNDING)),
    )
    yield _Plan(
        KEPT,
        f"share of the gain of {v.baseline} that {v.random} keeps, {_GAINS}",
        f"at least {v.kept_share:g}, lower limit above {v.kept_share_lower:g}",
        f"{v.random} is not shown to keep enough of what {v.baseline} gains: fewer tokens alone cost too much here",
        (v.random, v.baseline, BASE),
        together([random, gain]),
        lambda x, shared: _at_least(ratio_of_means(x[:, 0], x[:, 1], shared), v.kept_share, v.kept_share_lower),
    )


def _of_comparing(v: Validity, runs: pd.DataFrame, margin: float) -> Iterator[_Plan]:
    """The gates on comparing: two trainings of one method are equivalent, and a rule that must win does."""

    def alike(x: Floats, _: float) -> _Decision:
        value = over_runs(x).of_difference()
        p = float(two_one_sided(value.mean, value.se, value.df, -margin, margin))
        return value, p, p < ALPHA

    def resolved(x: Floats, _: float) -> _Decision:
        value = over_runs(x).of_difference()
        p = p_of_strata([x], float(value.p))
        return value, p, bool(p < ALPHA and value.mean > 0)

    yield _Plan(
        REPLICA,
        f"{v.replica} − {v.baseline}, {v.compared}",
        f"within ±{100 * margin:g} points by two one-sided tests",
        f"{v.baseline} with other random numbers is not shown to be equivalent to itself: comparisons are too noisy",
        (v.replica, v.baseline),
        differences_of(runs, v.replica, v.baseline, v.compared),
        alike,
    )
    yield _Plan(
        ORACLE,
        f"{v.oracle} − {v.oracle_control}, {v.compared}",
        f"above 0 with p below {ALPHA:g}",
        "rules of selection cannot be told apart: one that must win is not shown to win, so no rule's null counts",
        (v.oracle, v.oracle_control),
        differences_of(runs, v.oracle, v.oracle_control, v.compared),
        resolved,
    )
