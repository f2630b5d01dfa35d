"""The ablations and controls: every variant's difference to the one that it varies, by factor."""

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from ict_core.evidence.settings import Variation, words
from ict_core.figures.declaration import Declaration
from ict_core.figures.forest import METRICS, Line, draw_lines, heading
from ict_core.figures.panels import sentence
from ict_core.figures.style import label
from ict_core.statistics.names import AVERAGE, FACTORS

FIGURE = Declaration(
    place=6,
    title="Ablations and controls",
    caption=(
        "Each variant minus the one from which it differs in one factor alone, on the average over the benchmarks, in "
        "percent points. A heading names the factor, the variant that is varied and its value in brackets; a line the "
        "value in its place. Thick bars are 95 % t intervals over paired training seeds (new runs on these problems), "
        "thin ones 95 % two-way intervals (new runs on new problems), every small dot is a pair of runs with one seed. "
        "The word at the right is the verdict on the variant after the correction for all tests."
    ),
    inputs=("contrasts", "runs"),
    settings=("margin", "arms"),
)

_TURNED = {
    "variant": "baseline",
    "baseline": "variant",
    "low": "high",
    "high": "low",
    "two_way_low": "two_way_high",
    "two_way_high": "two_way_low",
}
_SIGNED = ["difference", "low", "high", "two_way_low", "two_way_high"]
_OPPOSITE = {"better": "worse", "worse": "better"}


def rows_of(contrasts: pd.DataFrame, arms: Mapping[str, Variation]) -> pd.DataFrame:
    """The contrasts of every variant with the one that it varies, as variant - that one, whichever way they were made.

    Args:
        contrasts: a frame of `schemas.CONTRASTS`.
        arms: of the study's variants; those that declare no factor are left out.
    """
    ours = contrasts[(contrasts["benchmark"] == AVERAGE) & contrasts["metric"].isin(METRICS)]
    turned = ours.rename(columns=_TURNED)[list(ours.columns)]
    turned = turned.assign(verdict=turned["verdict"].replace(_OPPOSITE), **{c: -turned[c] for c in _SIGNED})
    both = pd.concat([ours, turned], ignore_index=True)
    varied = {(variant, arm.of) for variant, arm in arms.items() if arm.factor is not None}
    return both[[pair in varied for pair in zip(both["variant"], both["baseline"], strict=True)]]


def draw(
    contrasts: pd.DataFrame,
    runs: pd.DataFrame,
    variants: Sequence[str],
    *,
    arms: Mapping[str, Variation],
    margin: float | None = None,
) -> Figure:
    """Draw variant - reference of the average, by model, factor and reference.

    Args:
        contrasts: a frame of `schemas.CONTRASTS`.
        runs: a frame of `schemas.RUNS`.
        variants: unused: every variant that declares a factor is shown.
        arms: of the study's variants.
        margin: of equivalence, a share.
    """
    rows = rows_of(contrasts, arms)
    if rows.empty:
        return sentence("No variant of this study declares by which factor it differs from another.")
    lines: list[Line] = []
    height: dict[tuple[str, str], int] = {}
    for model, of_model in rows.groupby("model", sort=False):
        lines.append(heading(str(model), of_model))
        ran = set(of_model["variant"])
        groups: dict[tuple[str, str], list[str]] = {}
        for variant in sorted(ran, key=list(arms).index):
            groups.setdefault((str(arms[variant].factor), arms[variant].of), []).append(variant)
        for (factor, of), members in sorted(groups.items(), key=lambda group: list(FACTORS).index(group[0][0])):
            lines.append(Line(f"{FACTORS[factor]}: {label(of)} ({words(arms[members[0]].values()[0])})", 1))
            for variant in members:
                height[str(model), variant] = len(lines)
                lines.append(Line(words(arms[variant].values()[1]), 2))
    places = [height[key] for key in zip(rows["model"], rows["variant"], strict=True)]
    return draw_lines(rows, places, lines, runs, margin)
