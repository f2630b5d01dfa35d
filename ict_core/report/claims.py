"""The ledger's page: every claim with the paper's figure, this study's, and the verdict."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ict_core.errors import Damaged, UserError
from ict_core.markdown import markdown_table
from ict_core.report.page import folded
from ict_core.statistics.deciding import CONTRADICTED, NOT_TESTABLE, NOT_TESTED, SUPPORTED
from ict_core.statistics.schemas import ALPHA
from ict_core.tables.table import NONE, number, p_value, percent

_SPACE = "\N{NO-BREAK SPACE}"


def claims_page(study: str, note: str, claims: Sequence[Mapping[str, Any]], margin: float, power: float) -> str:
    """The page as Markdown, from the ledger (`as_json`); `margin`, the smallest difference of interest, is a share."""
    rows = [
        (
            f"**{claim['statement']}** {claim['source'][0].upper() + claim['source'][1:]}. *Test:* {claim['test']}.",
            claim["family"],
            claim["paper"] or NONE,
            estimate_text(claim),
            *(NONE if p is None else p_value(p) for p in (claim["p"], claim["p_adjusted"])),
            claim["seeds"] or NONE,
            _seeds_text(claim["seeds_needed"], claim["seeds_needed_seen"]),
            f"**{claim['verdict']}**" + (f" ({claim['remark']})" if claim["remark"] else ""),
        )
        for claim in claims
        if claim["verdict"] != NOT_TESTED
    ]
    gated = sum(claim["verdict"] == NOT_TESTABLE for claim in claims)
    counted = "1 claim is" if gated == 1 else f"{gated} claims are"
    guard = f"{counted} `{NOT_TESTABLE}`: gates of the study's validity failed, as the table of it shows.\n"
    tested = sum(1 for claim in claims if claim["seeds"])
    heads = ("claim", "family", "the paper", "this study", "p", "adjusted p", "seeds", "seeds needed", "verdict")
    return "\n".join(
        [
            f"# Claims: {study}\n",
            f"**{note}**\n",
            "The claims of the ICT paper and the questions of its referee, each with the test and the decision rule "
            "that the ledger declares for every study (`configs/claims.yaml`), and those that a study with controls "
            "asks of every rule (docs/rules.md), or that it declares as its own. Estimates are percent points unless a "
            "unit is named, with 95 % intervals (Student's t over training runs, stratified by model): they speak for "
            f"new runs of these models at these learning rates on these problems. Of the {tested} claims that this "
            "study tests, Holm's correction runs over those of a family, which answer one question; in the family "
            "`headline` a claim counts only once the one before it is decided. A verdict of `supported` or "
            f"`contradicted` needs a corrected p below {ALPHA}, or, to contradict, a difference that two one-sided "
            f"tests, corrected likewise, place within ±{100 * margin:g} points.\n",
            "`seeds needed`: training seeds of each model and method at which the test finds an effect of the paper's "
            f"size (where it gives none: {100 * margin:g} points, or for a quantity the distance measured here) in "
            f"{100 * power:g} % of studies, at the corrected level and with the spread between runs seen here; in "
            "parentheses, to find an effect as large as was seen.\n",
            *([guard] if gated else []),
            markdown_table(heads, rows, "llllrrrrl"),
            not_tested(claims, {"claim": "statement", "test": "test", "why not": "remark"}),
            *_at_shared_rate(claims),
        ]
    )


def not_tested(claims: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> str:
    """The claims that a study does not test, folded; empty without any. `columns`: a heading -> a key of a claim."""
    rows = [[claim[key] for key in columns.values()] for claim in claims if claim["verdict"] == NOT_TESTED]
    return folded(f"{len(rows)} not tested in this study", markdown_table(list(columns), rows)) if rows else ""


def _at_shared_rate(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """The claims on scores tested at one learning rate for all; claims with another verdict then come first."""
    retested = [claim for claim in claims if claim.get("at_shared_rate")]
    retested.sort(key=lambda claim: claim["verdict"] == claim["at_shared_rate"]["verdict"])
    if not retested:
        return []
    changed = sum(claim["verdict"] != claim["at_shared_rate"]["verdict"] for claim in retested)
    rows = [
        (
            claim["statement"],
            *(text for entry in (claim, claim["at_shared_rate"]) for text in (estimate_text(entry), entry["verdict"])),
        )
        for claim in retested
    ]
    heads = ("claim", "own rates", "verdict", "shared rate", "verdict there")
    return [
        "## The same claims at one learning rate for all\n",
        "Above, every method trains at the learning rate that suits it best, chosen with the same budget for each. "
        f"Here all train at the recipe's. {changed} of {len(retested)} claims on scores have another verdict then"
        f"{'; they stand first' if changed else ''}.\n",
        markdown_table(heads, rows, "lrlrl"),
    ]


def claims_beside(
    study: str,
    claims: Sequence[Mapping[str, Any]],
    others: Mapping[str, Sequence[Mapping[str, Any]]],
    kinds: Mapping[str, str],
) -> str:
    """The verdicts of stored studies on the claims that this one tests, as Markdown; empty where it names none.

    `kinds` has what each stored study is about, in a few words, or an empty text.
    """
    if not others:
        return ""
    tested = [claim for claim in claims if claim["seeds"]]
    by_id = {name: {claim["id"]: claim for claim in entries if claim["seeds"]} for name, entries in others.items()}
    rows, counts = [], []
    for claim in tested:
        row = [claim["statement"], estimate_text(claim), claim["verdict"]]
        for ledger in by_id.values():
            match = ledger.get(claim["id"])
            row += [estimate_text(match), match["verdict"]] if match else [NONE, "not tested"]
        rows.append(row)
    for name, ledger in by_id.items():
        pairs = [(claim["verdict"], ledger[claim["id"]]["verdict"]) for claim in tested if claim["id"] in ledger]
        same, opposite = sum(a == b for a, b in pairs), sum({a, b} == {SUPPORTED, CONTRADICTED} for a, b in pairs)
        kind = f" ({kinds[name]})" if kinds.get(name) else ""
        counts.append(f"`{name}`{kind}: {same} of {len(pairs)} verdicts are the same, {opposite} the opposite")
    heads = ["claim", study, "verdict", *(head for name in by_id for head in (name, f"verdict of {name}"))]
    return "\n".join(
        [
            "\n## The same claims in other studies\n",
            f"Stored studies: of the same design with more or other seeds, or of other models. {'; '.join(counts)}.\n",
            markdown_table(heads, rows, "l" + "rl" * (1 + len(by_id))),
        ]
    )


def stored_claims(file: Path, remedy: str) -> dict[str, Any]:
    """A study's ledger of claims with its name and note; UserError with the remedy where there is no such file."""
    try:
        content: dict[str, Any] = json.loads(file.read_bytes())
    except FileNotFoundError as error:
        raise UserError(f"{file}: no such file; {remedy}") from error
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{file}: not JSON ({error})", file) from None
    if not isinstance(content, dict) or not isinstance(content.get("claims"), list):
        raise Damaged(f"{file}: not what `ict claims` wrote", file)
    return content


def estimate_text(claim: Mapping[str, Any]) -> str:
    """An estimate with its interval, such as "−17.3 [−27.0, −7.6]"; a dash where there is none."""
    if claim["estimate"] is None:
        return NONE
    points = claim["unit"] == "share"
    estimate, *limits = (
        "" if claim[key] is None else percent(claim[key], True) if points else number(claim[key], 3)
        for key in ("estimate", "low", "high")
    )
    interval = f"{_SPACE}[{limits[0]},{_SPACE}{limits[1]}]" if limits[0] else ""
    return f"{estimate}{interval}{'' if points else ' ' + claim['unit']}"


def _seeds_text(seeds: float | str | None, seen: float | str | None) -> str:
    texts = ["over 10,000" if isinstance(n, str) else f"{int(n):,}" for n in (seeds, seen) if n is not None]
    return NONE if seeds is None else " (".join(texts) + ")" * (len(texts) - 1)
