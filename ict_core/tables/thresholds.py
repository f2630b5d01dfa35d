"""The ablation of the share of tokens kept: rules with a parameter for it against one reference."""

import math

import pandas as pd

from ict_core.config.selectors import section_of
from ict_core.statistics.pairing import seed_range, shares_kept, shown_variants
from ict_core.tables._comparison import OF_LEVELS, by_metric, compared, resolved
from ict_core.tables.table import NONE, OF_BASE, Table, TableSettings


def thresholds_table(levels: pd.DataFrame, contrasts: pd.DataFrame, settings: TableSettings) -> Table:
    """Every fraction of every selector; first the first baseline, with 100 percent if it selects every token."""
    rows, reference = [], settings.baselines[0]
    is_all = section_of(settings.whole["methods"][reference]["selector"]).keeps_every_token
    for model in levels["model"].unique():
        kept = shares_kept(shown_variants(levels, model, settings.variants), settings.kept)
        shares = {reference: (reference, 100 if is_all else math.nan), **kept}
        rows += [(model, variant, *share) for variant, share in shares.items()]
    frame = pd.DataFrame(rows, columns=["model", "variant", "selector", "percent"])
    numbers = compared(levels, contrasts, frame.assign(reference=reference)).drop(columns="reference")
    everything = ", which keeps every token" if is_all else ""
    caption = (
        f"Average over the benchmarks in percent ± half its 95 % interval {OF_LEVELS}, "
        f"and the difference (Δ) from `{reference}`{everything}, in points ± half the 95 % "
        f"t-interval over {seed_range(numbers['seeds'].dropna())}, paired by seed.{OF_BASE} {resolved(numbers)}"
    )
    percents = [NONE if math.isnan(share) else f"{share:g}" for share in numbers["percent"]]
    readable = by_metric(numbers.assign(**{"kept %": percents}), ["model", "selector", "kept %"])
    return Table(numbers, readable, caption, keys=2)
