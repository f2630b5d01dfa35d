"""A comparison as text for a terminal, as JSON and as an HTML page."""

import io
import json
import math
from typing import Any

import numpy as np
import pandas as pd

from ict_core.comparison.compare import Comparison
from ict_core.markdown import markdown_table
from ict_core.report.page import page
from ict_core.statistics.deciding import NONE_SEEN
from ict_core.statistics.schemas import AVERAGE
from ict_core.tables.table import NONE, p_value, percent, percent_interval

_FOREST = "forest.png"
_WORDS = {NONE_SEEN: "no difference seen"}
_LEGEND = (
    "Differences are in percent points, ± half a 95 % interval. p is corrected for the number of comparisons (Holm)."
    " *Smallest* is the true difference that so many runs or problems find with the power asked, before the correction."
    " *Needed* is how many of them find a difference of the margin. *Equivalent*: two one-sided tests (TOST) place the"
    " difference within ±{margin:g} points."
)


def as_text(found: Comparison) -> str:
    """Markdown for a terminal: the differences and levels on the average, with a legend and the notes."""
    differences, levels = (_on_average(frame) for frame in (found.differences, found.levels))
    parts = [_differences(differences, True), _legend(found), _levels(levels, True), _notes(found)]
    return "\n".join(parts)


def as_json(found: Comparison) -> str:
    """The frames by name, a dictionary for each row, with null where a number does not exist; also notes and margin."""
    frames = {name: _records(frame) for name, frame in (("levels", found.levels), ("differences", found.differences))}
    content = {**frames, "notes": list(found.notes), "margin": found.margin}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def as_page(found: Comparison) -> str:
    """A page of HTML that needs no other file, with a forest plot of the differences."""
    title = "Comparison of models"
    differences, levels = (_on_average(frame) for frame in (found.differences, found.levels))
    parts = [f"# {title}\n", f"![Differences with 95 % intervals]({_FOREST})\n", _differences(differences)]
    parts += [_legend(found), _notes(found), "## Levels\n", _levels(levels)]
    if len(differences) < len(found.differences):
        parts += ["## Each benchmark\n", _differences(found.differences), _levels(found.levels)]
    return page(title, "\n".join(parts), {_FOREST: _forest(found)})


def _on_average(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the average, or of the only benchmark."""
    return frame[(frame["benchmark"] == AVERAGE) | (frame["benchmark"].nunique() == 1)]


def _legend(found: Comparison) -> str:
    return _LEGEND.format(margin=100 * found.margin) + "\n"


def _notes(found: Comparison) -> str:
    return "".join(f"* {note}\n" for note in found.notes)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    rows = frame.to_dict("records")
    return [{str(k): None if isinstance(v, float) and not math.isfinite(v) else v for k, v in r.items()} for r in rows]


def _differences(differences: pd.DataFrame, padded: bool = False) -> str:
    several = differences["benchmark"].nunique() > 1
    heads = ["model", "less", *(["benchmark"] if several else []), "metric", "difference"]
    heads += ["p", "verdict", "smallest", "needed", "over"]
    rows = []
    for row in differences.to_dict("records"):
        needed = NONE if np.isnan(row["needed"]) else "too many" if np.isinf(row["needed"]) else f"{row['needed']:.0f}"
        smallest = "over 100" if row["detectable"] > 1 else percent(row["detectable"])
        names = [f"`{row['model']}`", f"`{row['baseline']}`", *([row["benchmark"]] if several else []), row["metric"]]
        difference = percent_interval(row["difference"], row["low"], row["high"], signed=True)
        p = NONE if np.isnan(row["p_adjusted"]) else p_value(row["p_adjusted"])
        verdict, units = _WORDS.get(row["verdict"], row["verdict"]), f"{row['units']} {row['over']}"
        rows.append([*names, difference, p, verdict, smallest, needed, units])
    return markdown_table(heads, rows, "l" * (len(heads) - 3) + "rrl", padded=padded)


def _levels(levels: pd.DataFrame, padded: bool = False) -> str:
    bayes = levels["bayes_low"].notna().any()
    heads = ["model", "benchmark", "metric", "level", *(["Bayesian interval"] if bayes else []), "runs", "problems"]
    rows = []
    for row in levels.to_dict("records"):
        second = NONE if np.isnan(row["bayes_low"]) else f"{percent(row['bayes_low'])} to {percent(row['bayes_high'])}"
        level = percent_interval(row["mean"], row["low"], row["high"])
        names = [f"`{row['model']}`", row["benchmark"], row["metric"]]
        rows.append([*names, level, *([second] if bayes else []), row["runs"], row["problems"]])
    return markdown_table(heads, rows, "l" * (len(heads) - 2) + "rr", padded=padded)


def _forest(found: Comparison) -> bytes:
    """The differences in the first metric, on the average or the only benchmark, as a PNG."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from ict_core.figures.panels import RC

    rows = _on_average(found.differences)
    rows = rows[rows["metric"] == rows["metric"].iloc[0]]
    heights = np.arange(len(rows))
    with rc_context(RC):
        figure = Figure(figsize=(6.5, 0.8 + 0.25 * len(rows)), layout="constrained")
        axis = figure.subplots()
        axis.axvspan(-100 * found.margin, 100 * found.margin, color="#EDEDED", linewidth=0, zorder=0)
        axis.axvline(0, color="#444444", linewidth=0.7)
        low, middle, high = (100 * rows[name].to_numpy() for name in ("low", "difference", "high"))
        axis.errorbar(
            middle, heights, xerr=np.nan_to_num([middle - low, high - middle]), fmt="D", markersize=4, capsize=2
        )
        axis.set_yticks(heights, rows["model"], parse_math=False)
        axis.set_ylim(len(rows) - 0.4, -0.6)
        for height, verdict in enumerate(rows["verdict"]):
            axis.text(
                1.02, height, _WORDS.get(verdict, verdict), transform=axis.get_yaxis_transform(), va="center", size=7
            )
        metric, baseline = rows[["metric", "baseline"]].iloc[0]
        axis.set_xlabel(f"{metric} less {baseline}, percent points; grey: within the margin", parse_math=False)
        image = io.BytesIO()
        figure.savefig(image, format="png", dpi=150, metadata={"Software": None})
    return image.getvalue()
