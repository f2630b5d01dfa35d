"""The first page of a study: what was run, the verdicts, and how to read the rest."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ict_core.evidence import Settings, mixture_note, words
from ict_core.markdown import markdown_table
from ict_core.report._claims import estimate_text
from ict_core.statistics.calibrated import nearest
from ict_core.tables import NONE

_KEPT = {"keeps": "yes", "does not": "**no**"}  # the calibration's verdicts
_SCALE = """\
**This study is a miniature.** It shows that the harness runs and what it measures there. Its results do not speak \
for the paper's scale: neither an effect nor its absence carries over to the paper's models, data and training length.
"""

_READING = """\
## How to read this report

- **The unit is the training run**, identified by its seed. Problems are averaged within a benchmark, benchmarks \
within a run (each weighs the same), and runs last. pass@k is the unbiased estimate of Chen et al. (2021).
- **A level's interval** (main table) is the two-way interval over runs and problems: it speaks for new runs on new \
problems of these kinds. **A difference's interval** is Student's t over the paired differences of the runs; the \
two-way interval stands beside it. Both are nominal 95 %; `docs/statistics.md` has their measured coverage.
- **The deciding test** is the paired t over seeds (from 10 seeds the exact sign-flip). Holm's correction runs over \
the declared contrasts, and again over the claims; Benjamini and Hochberg's over the exploratory contrasts of the \
average, and apart from them over those of single benchmarks. No test here treats problems \
or samples as independent observations of a method.
- **Verdicts.** `better`, `worse`: the corrected p is below 0.05. `equivalent`: two one-sided t tests place the \
difference within ±{margin:g} points. `underpowered`: neither. It says that the runs cannot tell, not that the methods \
are equal; the columns beside it say which difference these runs could have found, and how many seeds would find \
{margin:g} points. `identical`: every pair of runs gives the same value. `no spread`: all pairs differ by the \
same amount, so that no t test can be made.
- **What to expect.** At 3 seeds a t test has 2 degrees of freedom, and `underpowered` is the usual honest outcome.
"""


def overview(
    settings: Settings, claims: Sequence[Mapping[str, Any]], compute: pd.DataFrame, manifest: Mapping[str, Any]
) -> str:
    """The page as Markdown.

    Args:
        claims: the ledger as in `claims.json`.
        compute: a frame of `records.COMPUTE`.
        manifest: as the collecting stage wrote it.
    """
    parts = [
        f"# {settings.name}\n",
        f"{settings.note}\n",
        _SCALE if settings.whole["scale"] == "mini" else "",
        "## What was run\n",
        _what_was_run(settings, compute, manifest),
        _arms(settings),
        "## Verdicts\n",
        _verdicts(claims, settings.margin),
        _READING.format(margin=100 * settings.margin),
        _trust(settings),
        "## What is assumed\n",
        "Every value below is a key of the configuration; where the paper does not give one, it is this project's "
        "assumption (`configs/` names its sources).\n",
        _assumed(settings),
    ]
    return "\n".join(filter(None, parts))


def _what_was_run(settings: Settings, compute: pd.DataFrame, manifest: Mapping[str, Any]) -> str:
    whole = settings.whole
    trained = compute[compute["stage"] == "train"]
    blocks = [[", ".join(map(str, block[key])) for key in ("models", "methods", "seeds")] for block in whole["grid"]]
    sets = ", ".join(f"{b['name']} ({b['problems']}, for {b['mirrors']})" for b in whole["benchmarks"])
    commits = ", ".join((source["commit"] or "no commit")[:12] for source in manifest["sources"])
    mixed = mixture_note(manifest)
    lines = [
        markdown_table(["models", "methods", "seeds"], blocks),
        f"{len(trained)} training runs of {whole['training']['steps']} optimiser steps on "
        f"{trained['tokens'].sum():,} generated tokens; each base model and each run answered {len(settings.mirrors)} "
        f"benchmarks with {whole['evaluation']['samples']} samples a problem: {sets}. All jobs together took "
        f"{compute['seconds'].sum() / 3600:.2f} hours of wall time. Code: {commits}.\n",
        f"**{mixed}**\n" if mixed else "",
    ]
    return "\n".join(filter(None, lines))


def _arms(settings: Settings) -> str:
    """What every two compared trainings differ in: the proof that a declared factor is the only one."""
    rows = [
        (variant, arm.of, arm.factor or NONE, "; ".join(map(_change, arm.different)), arm.equal)
        for variant, arm in settings.arms.items()
    ]
    return (
        "### What the arms differ in\n\nEvery key of a training's resolved configuration in which a variant differs "
        "from the one that it varies, beside its name; all others are equal. Where a factor is declared the loader "
        "refuses a method that differs in another key; a group size changes the prompts of a step with it, as the "
        "rollouts of a step stay as many. A variant that declares none stands beside the first baseline.\n\n"
        + markdown_table(["variant", "beside", "declared factor", "differs in", "equal keys"], rows, "llllr")
    )


def _change(difference: tuple[str, Any, Any]) -> str:
    key, old, new = difference
    return f"{key}: {words(old)} → {words(new)}"


def _trust(settings: Settings) -> str:
    """How often the intervals and tests shown keep their word at about this study's size, as the calibration found."""
    seeds = min(len(block["seeds"]) for block in settings.whole["grid"])
    rows = nearest([benchmark["problems"] for benchmark in settings.whole["benchmarks"]], seeds)
    if rows.empty:
        return (
            "No calibration was made at a size as small as this study's: its intervals and tests are untested there.\n"
        )
    where = f"{rows['size'].iloc[0]}, {rows['seeds'].iloc[0]} seeds"
    bootstrap = "method == 'crossed bootstrap' and quantity == 'difference' and truth == 'new problems'"
    shown = rows.query(f"role in ['primary', 'second view'] or ({bootstrap})")
    shown = shown.sort_values(["role", "quantity"], kind="stable").assign(
        nominal=(100 * shown["nominal"]).map("{:.0f}".format),
        rate=(100 * shown["rate"]).map("{:.1f}".format),
        verdict=shown["verdict"].map(_KEPT),
    )
    lines = shown[["quantity", "method", "truth", "nominal", "rate", "verdict"]].itertuples(index=False)
    return (
        "### How often they keep their word\n\nMeasured by simulation at the calibrated size nearest to this study's "
        f"({where}); percent. A nominal 95 % interval keeps its word from 92 to 98, a nominal 5 % test up to 6.\n\n"
        + markdown_table(["of", "method", "for", "nominal", "measured", "keeps its word"], lines, "lllrrl")
    )


def _verdicts(claims: Sequence[Mapping[str, Any]], margin: float) -> str:
    """The ledger's verdicts in short, after a sentence that counts them."""
    counts = ", ".join(
        f"{count} {verdict}" for verdict, count in Counter(claim["verdict"] for claim in claims).most_common()
    )
    rows = [
        (claim["statement"], claim["paper"] or NONE, estimate_text(claim), f"**{claim['verdict']}**")
        for claim in claims
    ]
    return (
        f"Of {len(claims)} claims and questions of the ledger: {counts}. Estimates are percent points unless "
        f"a unit is named, with 95 % intervals; the smallest difference of interest is {100 * margin:g} points.\n\n"
        + markdown_table(["claim", "the paper", "this study", "verdict"], rows)
    )


def _assumed(settings: Settings) -> str:
    whole = settings.whole
    parts = ("training", "evaluation", "evidence")
    rows = [(f"{part}.{key}", value) for part in parts for key, value in whole[part].items()]
    for name in settings.variants:
        values = ", ".join(f"{key} {value}" for key, value in whole["methods"][name].items())
        rows.append((f"methods/{name}", values))
    return markdown_table(["key", "value"], rows)
