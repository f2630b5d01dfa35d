"""The answer of a study in words and one small table: the first thing that its pages and the README show."""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import pandas as pd

from ict_core.evidence.bench import OVER_BASELINE, OVER_CONTROLS, PRIMARY, bench_controls
from ict_core.evidence.gates import FAILED, NOT_MEASURED, PASSED
from ict_core.evidence.ledger import UNBOUNDED
from ict_core.evidence.stored import Settings
from ict_core.evidence.tuning import remarks
from ict_core.evidence.validity import AFTER, DECLARED
from ict_core.markdown import markdown_table
from ict_core.report.claims import estimate_text
from ict_core.statistics.deciding import (
    BETTER,
    CONTRADICTED,
    EQUIVALENT,
    IDENTICAL,
    NONE_SEEN,
    NOT_CONFIRMED,
    NOT_TESTABLE,
    SUPPORTED,
    WORSE,
)
from ict_core.statistics.pairing import both_ways
from ict_core.statistics.schemas import ALPHA, AVERAGE, BASE, GAIN, PASS_METRICS, SIGN_FLIP_FROM
from ict_core.tables.table import NONE, percent, percent_interval, value_text


def main_figure(settings: Settings) -> str:
    return "bench" if bench_controls(settings) else "forest"


def answer(
    settings: Settings,
    claims: Sequence[Mapping[str, Any]],
    levels: pd.DataFrame,
    contrasts: pd.DataFrame,
    tuning: pd.DataFrame,
    validity: pd.DataFrame,
    averaged: Sequence[str],
) -> str:
    """The answer as Markdown, from the ledger (`as_json`) and frames `LEVELS`, `CONTRASTS`, `TUNING`, `VALIDITY`.

    It says whether the study can tell. Next is its own question, else the count of a bench's
    verdicts, else the first claim that it tests. A table has a row per model and variant (none for a bench's controls):
    the level on the average over the benchmarks `averaged`, and in the metric of the study's question the difference
    from the first baseline and its verdict. Remarks on rates come last.
    """
    reference, controls, rows = settings.baselines[0], bench_controls(settings), []
    compared = settings.primary.metric if settings.primary else PASS_METRICS[-1]
    failed_models = set(validity.loc[validity["outcome"] == FAILED, "model"])
    gate_arms = set(settings.validity.arms().values()) if settings.validity else set()
    pairs = both_ways(contrasts)
    level, contrast = (
        {(row["model"], row["variant"], row["metric"]): row for row in frame.to_dict("records")}
        for frame in (levels[levels["benchmark"] == AVERAGE], pairs[pairs["baseline"] == reference])
    )
    shown = [variant for variant in settings.variants if variant not in controls]
    seeds = {row["seeds"] for (_, variant, metric), row in contrast.items() if variant in shown and metric == compared}
    for model in dict.fromkeys(levels["model"]):
        for variant in (BASE, *shown):
            if (model, variant, PASS_METRICS[0]) not in level:
                continue
            levels_of = [level[model, variant, metric] for metric in PASS_METRICS]
            intervals = [percent_interval(row["mean"], row["low"], row["high"]) for row in levels_of]
            gain, low, high = (level[model, variant, compared][limit] for limit in GAIN)
            difference, verdict = NONE, NONE
            if entry := contrast.get((model, variant, compared)):
                difference = percent_interval(entry["difference"], entry["low"], entry["high"], signed=True)
                difference += f" (n = {entry['seeds']})" if len(seeds) > 1 else ""
                testable = model not in failed_models or variant in gate_arms
                verdict = in_words(entry, settings.margin) if testable else NOT_TESTABLE
            rows.append(
                [model, f"`{variant}`", *intervals, percent_interval(gain, low, high, signed=True), difference, verdict]
            )
    heads = ["model", "method", *PASS_METRICS, f"{compared} less base", f"Δ {compared}", f"against `{reference}`"]
    table = markdown_table(heads, rows, "llrrrrl")
    over = f"On `{averaged[0]}`," if len(averaged) == 1 else f"Average over {len(averaged)} benchmarks"
    return "\n".join(
        [
            *can_tell(validity),
            *(_primary(claims) or (_bench(claims, reference, settings.power) if controls else _first_claim(claims))),
            f"{over} in percent with 95 % intervals; Δ in points, paired over "
            f"{' or '.join(map(str, sorted(seeds))) or 'no'} training seeds"
            f"{' (n); levels and gains are of all runs of a method' if len(seeds) > 1 else ''}.\n",
            table,
            *_of_rates(tuning),
        ]
    )


def can_tell(validity: pd.DataFrame) -> list[str]:
    """A sentence on whether the study can tell, and a table of its gates."""
    if validity.empty:
        return ["This study declares no gates: it does not show that it could tell rules apart.\n"]
    gates = validity[validity["outcome"].isin([PASSED, FAILED, NOT_MEASURED])].to_dict("records")
    gates = [row | {"text": value_text(*(row[key] for key in ("gate", "value", "low", "high")))} for row in gates]
    faults = [
        f"{row['because']} ({row['of']} on {row['model']}: {row['text']}; asked: {row['asked']})"
        for row in gates
        if row["outcome"] == FAILED
    ]
    missing = [
        f"{row['gate']}{' on ' * bool(row['model'])}{row['model']} ({row['because']})"
        for row in gates
        if row["outcome"] == NOT_MEASURED
    ]
    if faults:
        models = " and ".join(dict.fromkeys(row["model"] for row in gates if row["outcome"] == FAILED))
        text = f"**This study cannot tell, because** {'; '.join(faults)}. "
        text += f"Its comparisons of rules on {models} are {NOT_TESTABLE}."
    elif missing:
        text = "**Whether this study can tell is not measured in full.**"
    else:
        text = "**This study can tell: every gate of its validity is passed.**"
    text += f" Not measured: {', '.join(missing)}." if missing else ""
    for row in validity[validity["gate"] == DECLARED].to_dict("records"):
        when = f"**{row['outcome']}**" if row["outcome"] == AFTER else row["outcome"]
        text += f" When gates and claims were declared: {when} ({row['because']})."
    keys = ("of", "text", "asked", "outcome")
    rows = [[row["gate"], row["model"] or NONE, *(row[key] for key in keys)] for row in gates]
    return [f"{text}\n", markdown_table(["gate", "model", "of", "value", "asked", "outcome"], rows)]


def _of_rates(tuning: pd.DataFrame) -> list[str]:
    arms_by_remark: dict[str, list[str]] = {}
    for (model, variant), remark in remarks(tuning).items():
        if remark:
            arms_by_remark.setdefault(remark, []).append(f"`{variant}` ({model})")
    text = "; ".join(f"{remark}: {', '.join(arms)}" for remark, arms in arms_by_remark.items())
    return [f"Own learning rates: {text}.\n"] if text else []


def _bench(claims: Sequence[Mapping[str, Any]], reference: str, power: float) -> list[str]:
    """The numbers of rules found better and worse than the baseline and than controls, with the detectable gains."""
    text = []
    for family, noun in (
        (OVER_BASELINE, f"rules against `{reference}`"),
        (OVER_CONTROLS, "comparisons with a control"),
    ):
        tested = [claim for claim in claims if claim["family"] == family and claim["seeds"]]
        better = [claim for claim in tested if claim["verdict"] == SUPPORTED]
        worse = [c for c in tested if c["verdict"] == CONTRADICTED and c["estimate"] < 0 and c["p_adjusted"] < ALPHA]
        gated = sum(claim["verdict"] == NOT_TESTABLE for claim in tested)
        rules = dict.fromkeys(f"`{claim['statement'].split('`')[1]}`" for claim in better)
        names = f" ({', '.join(rules)})" if better else ""
        text.append(
            f"**{len(tested)} {noun}: {len(better)} found better{names}, {len(worse)} found worse"
            f"{f', {gated} {NOT_TESTABLE}' if gated else ''}.**"
        )
        sizes = (claim["detectable"] for claim in tested if claim["detectable"] is not None)
        smallest = sorted(math.inf if size == UNBOUNDED else size for size in sizes)
        if smallest:
            flips = "; sign flips, which decide, need more" if tested[0]["seeds"] >= SIGN_FLIP_FROM else ""
            text.append(
                "The smallest gain that the first step of Holm's correction would find with a power of "
                f"{100 * power:g} % is {percent(median(smallest))} points in the median ({percent(smallest[0])} to "
                f"{percent(smallest[-1])}, by t-tests{flips})."
            )
    return [f"{' '.join(text)} The rest is undecided, or equivalent within the margin.\n"]


def _primary(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each comparison of the study's own question; an empty list if it has none."""
    found = [claim for claim in claims if claim["family"] == PRIMARY]
    texts = [f"* {_claim(claim)}" + f" ({claim['remark']})" * bool(claim["remark"]) for claim in found]
    return ["The study's own question, corrected together:\n", *texts, ""] if found else []


def _first_claim(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    ledger_claims = (claim for claim in claims if claim["family"] not in (OVER_BASELINE, OVER_CONTROLS))
    claim = next((claim for claim in ledger_claims if claim["seeds"]), None)
    return [] if claim is None else [f"{_claim(claim)}\n"]


def _claim(claim: Mapping[str, Any]) -> str:
    paper, unit = f"; the paper has {claim['paper']}" if claim["paper"] else "", " points" * (claim["unit"] == "share")
    return f"**{claim['statement']}** Here: **{claim['verdict']}**, {estimate_text(claim)}{unit}{paper}."


def in_words(contrast: Mapping[Any, Any], margin: float) -> str:
    """A difference, a row of `CONTRASTS`, in words that tell apart a loss, no difference and no evidence."""
    verdict, size = contrast["verdict"], percent(abs(contrast["difference"]))
    if verdict in (BETTER, WORSE):
        return f"{verdict}, {size} points, found"
    if verdict == EQUIVALENT:
        return f"equivalent within {100 * margin:g} points"
    if verdict == NONE_SEEN and contrast["detectable"] > 1:
        return "no difference seen; not even 100 points would have been found"
    if verdict == NONE_SEEN:
        size = percent(contrast["detectable"])
        return f"no difference seen; before the correction, {size} points or more would mostly have been found"
    if verdict == NOT_CONFIRMED:
        return f"{size} points {'more' if contrast['difference'] > 0 else 'less'}, not confirmed after the correction"
    return "no difference in any run" if verdict == IDENTICAL else str(verdict)
