"""How numbers are printed in the readable tables. Shares become percent points with one decimal."""

import math
from collections.abc import Callable, Sequence

import pandas as pd

NONE = "—"
SIGNIFICANCE = 0.05


def by_row(frame: pd.DataFrame, columns: Sequence[str], text: Callable[..., str]) -> list[str]:
    """`text` of the named columns' values, one a row."""
    return [text(*values) for values in frame[list(columns)].itertuples(index=False, name=None)]


def number(value: float, decimals: int, signed: bool = False) -> str:
    """A number with a true minus sign, no negative zero, and a dash for NaN."""
    if math.isnan(value):
        return NONE
    rounded = round(value, decimals) + 0.0  # -0.0 + 0.0 is 0.0
    return f"{rounded:{'+' if signed else ''}.{decimals}f}".replace("-", "−")


def percent(share: float, signed: bool = False) -> str:
    """A share in percent points with one decimal, such as "23.4"."""
    return number(100 * share, 1, signed)


def percent_interval(mean: float, low: float, high: float, signed: bool = False) -> str:
    """A mean share with half its symmetric interval, such as "23.4 ± 3.1" or, without an interval, "23.4 ± —"."""
    return f"{percent(mean, signed)} ± {percent((high - low) / 2)}"


def rare_percent(share: float) -> str:
    """A share in percent points that never prints something rare as nothing."""
    return "<0.1" if 0 < share < 0.0005 else percent(share)


def p_value(p: float) -> str:
    """A p value with three decimals, "<0.001" below that."""
    return "<0.001" if p < 0.001 else number(p, 3)


def seed_range(seeds: pd.Series) -> str:
    """The numbers of seeds that occur, in words: "3 training seeds", "2 to 3 training seeds"."""
    if seeds.empty:
        return "no training seeds"
    least, most = int(seeds.min()), int(seeds.max())
    span = f"{most}" if least == most else f"{least} to {most}"
    return f"{span} training seed{'' if most == 1 else 's'}"
