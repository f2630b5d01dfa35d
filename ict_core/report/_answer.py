"""What a study answers, in words and one small table: the first thing that its pages and the README show."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ict_core.evidence import Settings
from ict_core.markdown import markdown_table
from ict_core.report._claims import body, estimate_text
from ict_core.statistics import AVERAGE, BASE, BETTER, EQUIVALENT, IDENTICAL, NONE_SEEN, NOT_CONFIRMED, WORSE, both_ways
from ict_core.tables import NONE, percent, percent_interval

_METRICS = ("pass@1", "pass@4")
MAIN_FIGURE = "forest"


def answer(
    settings: Settings, claims: Sequence[Mapping[str, Any]], levels: pd.DataFrame, contrasts: pd.DataFrame
) -> str:
    """The answer as Markdown, from the ledger (`as_json`) and frames of `LEVELS` and `CONTRASTS`.

    The first claim that the study tests, in a sentence; then every variant's level and what is known of its difference
    from the first baseline, a table a model.
    """
    reference, rows = settings.baselines[0], []
    average = levels[levels["benchmark"] == AVERAGE].set_index(["model", "variant", "metric"])
    pairs = both_ways(contrasts)
    pairs = pairs[pairs["baseline"] == reference].set_index(["model", "variant", "metric"])
    for model in dict.fromkeys(levels["model"]):
        for variant in (BASE, *settings.variants):
            if (model, variant, _METRICS[0]) not in average.index:
                continue
            row = [model, f"`{variant}`"]
            for metric in _METRICS:
                row.append(percent_interval(*average.loc[(model, variant, metric), ["mean", "low", "high"]]))
            key = (model, variant, _METRICS[1])
            found = pairs.loc[key] if key in pairs.index else None
            row += [NONE, NONE] if found is None else [_difference(found), in_words(found, settings.margin)]
            rows.append(row)
    heads = ["model", "method", *_METRICS, f"Δ {_METRICS[1]}", f"against `{reference}`"]
    table = markdown_table(heads, rows, "llrrrl")
    seeds = sorted({len(block["seeds"]) for block in settings.whole["grid"]})
    return "\n".join(
        [
            *_first_claim(claims),
            f"Average over {len(settings.mirrors)} benchmarks in percent with 95 % intervals; Δ in points, paired over "
            f"{' or '.join(map(str, seeds))} training seeds.\n",
            table,
        ]
    )


def _first_claim(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    claim = next((claim for claim in claims if claim["seeds"]), None)
    if claim is None:
        return []
    paper = f"; the paper has {claim['paper']}" if claim["paper"] else ""
    return [f"**{claim['statement']}** Here: **{claim['verdict']}**, {estimate_text(claim)} points{paper}.\n"]


def _difference(contrast: pd.Series) -> str:
    return percent_interval(*contrast[["difference", "low", "high"]], signed=True)


def in_words(contrast: pd.Series, margin: float) -> str:
    """What is known of a difference, a row of `CONTRASTS`: a loss, no difference and no evidence read apart."""
    verdict, size = contrast["verdict"], percent(abs(contrast["difference"]))
    if verdict in (BETTER, WORSE):
        return f"{verdict}, {size} points, found"
    if verdict == EQUIVALENT:
        return f"equivalent within {100 * margin:g} points"
    if verdict == NONE_SEEN:
        return f"no difference seen; {percent(contrast['detectable'])} points or more would have been found"
    if verdict == NOT_CONFIRMED:
        return f"{size} points {'more' if contrast['difference'] > 0 else 'less'}, not confirmed after the correction"
    return "identical in every run" if verdict == IDENTICAL else str(verdict)


LANDING = "ICT_ANSWER"  # the environment variable by which the workflow names the answer of its study


def landing() -> str:
    """The answer as reStructuredText, for the first page of Snakemake's report."""
    file = Path(os.environ[LANDING])
    try:
        text = body(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        text = "<p>The study is not finished: there is no answer yet.</p>"
    return ".. raw:: html\n\n" + "\n".join(f"   {line}" for line in text.splitlines())
