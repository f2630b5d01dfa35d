"""How numbers are printed in the readable tables. Shares become percent points with one decimal."""

import math
from collections.abc import Callable, Iterable, Sequence

import pandas as pd

from ict_core.evidence import DETECTABLE, KEPT, RATE

NONE = "—"
SYMMETRIC = 0.005  # sides of an interval whose lengths differ by no more, in shares, print as one half-width
_ENOUGH = 9  # decimals to which a number is settled first: what lies beyond is the CPU's rounding


def by_row(frame: pd.DataFrame, columns: Sequence[str], text: Callable[..., str]) -> list[str]:
    """`text` of the named columns' values, one a row."""
    return [text(*values) for values in frame[list(columns)].itertuples(index=False, name=None)]


def number(value: float, decimals: int, signed: bool = False) -> str:
    """A number with a true minus sign, no negative zero, thousands set apart, and a dash for NaN."""
    if math.isnan(value):
        return NONE
    rounded = round(round(value, _ENOUGH), decimals) + 0.0  # -0.0 + 0.0 is 0.0
    return f"{rounded:{'+' if signed else ''},.{decimals}f}".replace("-", "−")


def percent(share: float, signed: bool = False) -> str:
    """A share in percent points with one decimal, such as "23.4"."""
    return number(100 * share, 1, signed)


def percent_interval(mean: float, low: float, high: float, signed: bool = False) -> str:
    """A mean share with half its interval, "23.4 ± 3.1" or "23.4 ± —"; where not symmetric, its limits: "23.4 (20–31)".

    The limits are whole percents, so that a row of seven benchmarks fits a page; those of a signed difference are not.
    """
    if math.isnan(mean):
        return NONE
    if abs((high - mean) - (mean - low)) > SYMMETRIC:
        limits = percent_range(low, high, signed) if signed else f"{number(100 * low, 0)}–{number(100 * high, 0)}"
        return f"{percent(mean, signed)} ({limits})"
    return f"{percent(mean, signed)} ± {percent((high - low) / 2)}"


def value_text(gate: str, value: float, low: float, high: float) -> str:
    """A value with its limits: percent (points), of the kept share a ratio, of a learning rate the rate itself."""
    if math.isnan(value):
        return NONE
    if gate == RATE:
        return f"{value:g}"

    def shown(share: float) -> str:
        return number(share, 2) if gate == KEPT else percent(share)

    limits = f"{shown(low)} to {shown(high)}"
    if math.isnan(low):
        return shown(value)
    return f"{shown(value)} ({limits})" if gate == DETECTABLE else f"{shown(value)} [{limits}]"


def with_half(limits: Iterable[float], decimals: int, factor: float = 1, signed: bool = False) -> str:
    """A mean with half its interval (mean, low, high, times a factor): "1.25 ± 0.10", "1.25" without an interval."""
    mean, low, high = (factor * limit for limit in limits)
    half = "" if math.isnan(low) else f" ± {number((high - low) / 2, decimals)}"
    return number(mean, decimals, signed) + half


def percent_range(low: float, high: float, signed: bool = False) -> str:
    """An interval's limits, such as "−1.0 to 3.2"; a dash without an interval."""
    return NONE if math.isnan(low) else f"{percent(low, signed)} to {percent(high, signed)}"


def rare_percent(share: float) -> str:
    """A share in percent points that never prints something rare as nothing."""
    return "<0.1" if 0 < share < 0.0005 else percent(share)


def p_value(p: float) -> str:
    """A p value with three decimals, "<0.001" below that."""
    return "<0.001" if p < 0.001 else number(p, 3)


def whole_range(values: pd.Series, decimals: int = 0) -> str:
    """The mean of some runs with the least and the largest: "120 (100 to 130)"; a single number where all are equal."""
    mean, low, high = (number(float(v), decimals) for v in (values.mean(), values.min(), values.max()))
    return mean if low == high else f"{mean} ({low} to {high})"
