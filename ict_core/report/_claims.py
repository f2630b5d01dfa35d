"""The ledger's page: every claim, the paper's figure, this study's, and the verdict."""

from collections.abc import Mapping, Sequence
from typing import Any

from ict_core.markdown import markdown_table
from ict_core.tables import NONE, p_value

_SPACE = "\N{NO-BREAK SPACE}"


def claims_page(study: str, note: str, claims: Sequence[Mapping[str, Any]], margin: float, power: float) -> str:
    """The page as Markdown.

    Args:
        claims: the ledger as JSON-able values (`evidence.ledger.as_json`).
        margin: the smallest difference of interest, a share.
        power: of the seeds needed.
    """
    rows = [
        (
            f"**{claim['statement']}** {claim['source'][0].upper() + claim['source'][1:]}. *Test:* {claim['test']}.",
            claim["paper"] or NONE,
            estimate_text(claim),
            _p_text(claim["p"]),
            _p_text(claim["p_adjusted"]),
            claim["seeds"] or NONE,
            _seeds_text(claim["seeds_needed"]),
            f"**{claim['verdict']}**" + (f" ({claim['remark']})" if claim["remark"] else ""),
        )
        for claim in claims
    ]
    tested = sum(1 for claim in claims if claim["seeds"])
    heads = ("claim", "the paper", "this study", "p", "Holm p", "seeds", "seeds needed", "verdict")
    return "\n".join(
        [
            f"# Claims: {study}\n",
            f"**{note}**\n",
            "The claims of the ICT paper and the questions of its referee, each with the test and the decision rule "
            "that the ledger declares for every study (`configs/claims.yaml`). Estimates are percent points unless a "
            "unit is named, with 95 % intervals (Student's t over training runs, stratified by model): they speak for "
            f"new runs of these models on these problems. Holm's correction runs over the {tested} claims that this "
            "study tests. A verdict of `supported` or `contradicted` needs a corrected p below 0.05, or, to contradict,"
            f" a difference that two one-sided tests place within ±{100 * margin:g} points.\n",
            "`seeds needed`: training seeds of each model and method at which the test finds an effect of the paper's "
            f"size (where it gives none: {100 * margin:g} points, or for a quantity the distance measured here) in "
            f"{100 * power:g} % of studies, at the corrected level and with the spread between runs seen here.\n",
            markdown_table(heads, rows, "lllrrrrl"),
        ]
    )


def estimate_text(claim: Mapping[str, Any]) -> str:
    """An estimate with its interval, such as "−17.3 [−27.0, −7.6]"; a dash where there is none."""
    if claim["estimate"] is None:
        return NONE
    points = claim["unit"] == "share"

    def number(value: float) -> str:
        return (f"{100 * value:+.1f}" if points else f"{value:.3f}").replace("-", "−")

    interval = "" if claim["low"] is None else f"{_SPACE}[{number(claim['low'])},{_SPACE}{number(claim['high'])}]"
    return f"{number(claim['estimate'])}{interval}{'' if points else ' ' + claim['unit']}"


def _p_text(p: float | None) -> str:
    return NONE if p is None else p_value(p)


def _seeds_text(seeds: float | str | None) -> str:
    if seeds is None:
        return NONE
    return "over 10,000" if isinstance(seeds, str) else f"{int(seeds):,}"
