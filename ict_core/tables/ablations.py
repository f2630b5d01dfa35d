"""The ablations and controls: every variant beside its reference, which differs only in the declared factor."""

import pandas as pd

from ict_core.evidence.stored import words
from ict_core.statistics.pairing import seed_range
from ict_core.statistics.schemas import FACTORS
from ict_core.tables._comparison import OF_LEVELS, by_metric, compared, resolved
from ict_core.tables.table import OF_BASE, Table, TableSettings


def ablations_table(levels: pd.DataFrame, contrasts: pd.DataFrame, settings: TableSettings) -> Table:
    """Every variant that declares a factor, by factor, with both values; each model's references come first."""
    variations = [(variant, arm) for variant, arm in settings.arms.items() if arm.factor is not None]
    variations.sort(key=lambda pair: list(FACTORS).index(str(pair[1].factor)))
    references = dict.fromkeys(arm.of for _, arm in variations)
    rows: list[tuple[object, ...]] = []
    for model in levels["model"].unique():
        rows += [(model, "", reference, reference, "", "") for reference in references]
        for variant, arm in variations:
            old, new = map(words, arm.values())
            rows.append((model, FACTORS[str(arm.factor)], variant, arm.of, new, old))
    columns = ["model", "factor", "variant", "reference", "value", "value in reference"]
    numbers = compared(levels, contrasts, pd.DataFrame(rows, columns=columns))
    caption = (
        "Each variant differs from its reference in one factor, which its configuration declares and the loader "
        "checks, and in the learning rate where it has one of its own (the study's rates). Average over the benchmarks "
        f"in percent ± half its 95 % interval {OF_LEVELS}, and the difference (Δ) variant − reference "
        "in points ± half the 95 % t-interval over "
        f"{seed_range(numbers['seeds'].dropna())}, paired by seed; a verdict speaks of the variant.{OF_BASE} "
        f"{resolved(numbers)}"
    )
    changes = numbers.assign(change=numbers["value in reference"] + " → " + numbers["value"])
    changes.loc[changes["factor"] == "", "change"] = ""
    readable = by_metric(changes, ["model", "factor", "variant", "change", "reference"])
    return Table(numbers, readable, caption, keys=2)
