"""The ablations and controls: every variant's difference from its reference, by factor."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from ict_core.evidence.stored import ArmVariation, words
from ict_core.figures.forest import Line, draw_lines, heading
from ict_core.figures.panels import label, sentence
from ict_core.statistics.pairing import both_ways
from ict_core.statistics.schemas import FACTORS, PASS_METRICS


def rows_of(contrasts: pd.DataFrame, arms: Mapping[str, ArmVariation]) -> pd.DataFrame:
    """The contrasts of every variant that declares a factor with its reference, as variant - reference."""
    rows = both_ways(contrasts[contrasts["metric"].isin(PASS_METRICS)])
    varied = {(variant, arm.of) for variant, arm in arms.items() if arm.factor is not None}
    return rows[[pair in varied for pair in zip(rows["variant"], rows["baseline"], strict=True)]]


def draw(
    contrasts: pd.DataFrame,
    runs: pd.DataFrame,
    variants: Sequence[str],
    *,
    arms: Mapping[str, ArmVariation],
    margin: float,
) -> Figure:
    rows = rows_of(contrasts, arms)
    if rows.empty:
        return sentence("No variant of this study declares by which factor it differs from another.")
    lines = []
    for model, model_rows in rows.groupby("model", sort=False):
        lines.append(heading(str(model), model_rows))
        groups: dict[tuple[str, str], list[str]] = {}
        for variant in sorted(model_rows["variant"].unique(), key=list(arms).index):
            groups.setdefault((str(arms[variant].factor), arms[variant].of), []).append(variant)
        for (factor, reference), members in sorted(groups.items(), key=lambda group: list(FACTORS).index(group[0][0])):
            lines.append(Line(f"{FACTORS[factor]}: {label(reference)} ({words(arms[members[0]].values()[0])})", 1))
            for variant in members:
                variant_rows = model_rows[model_rows["variant"] == variant]
                lines.append(Line(words(arms[variant].values()[1]), 2, variant_rows.index))
    return draw_lines(rows, lines, runs, margin)
