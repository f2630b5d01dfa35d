"""The pages of a token study: the claims on tokens, tables and figures, from its stored frames."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pandas as pd
from matplotlib import rc_context

from ict_core.evidence.claims import Measure, read_claims
from ict_core.evidence.ledger import LedgerFrames, as_json, ledger
from ict_core.evidence.stored import Settings, Stored
from ict_core.figures import overlap, readings, single_logit, token_rules
from ict_core.figures.panels import RC
from ict_core.figures.write import write as write_figure
from ict_core.markdown import markdown_table
from ict_core.report.claims import estimate_text
from ict_core.report.page import page
from ict_core.statistics.deciding import NOT_TESTED
from ict_core.statistics.schemas import STATISTICS
from ict_core.store import records
from ict_core.store.files import write_text
from ict_core.store.layout import StudyFiles
from ict_core.store.manifests import read_manifest, write_json
from ict_core.tables.token_study import token_classes_table, token_rules_table, token_texts_table
from ict_core.tables.write import markdown
from ict_core.tables.write import write as write_table


class Figure(NamedTuple):
    """A figure of the page: the module that draws it from these frames, its title and its caption."""

    module: ModuleType
    frames: tuple[str, ...]
    title: str
    caption: str


_FIGURES = {
    "token_rules": Figure(token_rules, ("quantity_means",), "What each rule keeps", token_rules.CAPTION),
    "token_overlap": Figure(
        overlap,
        ("overlap",),
        "How far any two rules agree",
        "Above the diagonal the Jaccard index of the tokens that two rules keep, below it Spearman's correlation of "
        "the scores by which they rank the tokens; means over prompts.",
    ),
    "token_single_logit": Figure(
        single_logit,
        ("single_logit", "single_logit_bins"),
        "One logit's change and the entropies",
        "The sampled token's logit alone is raised or lowered: how often the first-order change of H2 has the exact "
        "one's sign, where π < β and where π > β, and beyond which step it has not. Grey: random distributions. "
        "Coloured: the model's tokens, the mean over prompts in its 95 % t-interval.",
    ),
}

OTHER_FIGURES = _FIGURES | {"readings": Figure(readings, (), "Every reading of the paper", readings.CAPTION)}
"""Figures that no report of trainings has, by the stems of their files."""


def write_token_pages(stored: Path, results: Path, claims: Path) -> None:
    """Write tables, figures, claims and the page of a token study whose frames are in the folder `stored`."""
    study, files = Stored(stored, stored), StudyFiles(results)
    name, quantities = study.settings.name, study.frame("quantities")
    texts = records.read_frame(StudyFiles(stored).token_texts, records.TOKEN_TEXTS)
    rules = list(dict.fromkeys(quantities["variant"]))
    manifest = read_manifest(StudyFiles(stored).manifest)
    note = f"{study.settings.note} {_scope(manifest)}"
    tables = [
        token_rules_table(study.frame("quantity_means"), rules),
        token_classes_table(texts, rules),
        token_texts_table(texts, rules),
    ]
    for table in tables:
        write_table(table, files.tables, note)
    figures, images = [], {}
    for stem, figure in _FIGURES.items():
        with rc_context(RC):
            drawing = figure.module.draw(*map(study.frame, figure.frames), rules)
        _, image = write_figure(drawing, stem, files.figures, note)
        place = image.relative_to(results).as_posix()
        images[place] = image.read_bytes()
        figures.append(f"## {figure.title}\n\n![{figure.title}]({place})\n\n{figure.caption}\n")
    tested = _claims(quantities, claims, study.settings)
    write_json(files.claims, {"study": name, "unit": "prompt", "note": note, "claims": tested})
    text = "\n".join(
        [
            f"# {name}: every rule on an untrained model's tokens\n",
            f"**{note}**\n",
            "No model was trained for this page. Every rule is applied to the same answers; the unit of every interval "
            "and test is the prompt, so that they speak for new prompts of these benchmarks and for no other model.\n",
            "## The ledger's claims on tokens\n",
            _claims_table([claim for claim in tested if claim["verdict"] != NOT_TESTED]),
            *(f"## {table.title}\n\n{markdown(table)}\n" for table in tables),
            *figures,
            "## Where it comes from\n",
            _origin(manifest),
        ]
    )
    write_text(files.report, text)
    write_text(files.overview, page(f"{name}: tokens", text, images))


def _scope(manifest: Mapping[str, Any]) -> str:
    parts = [
        f"{model}: {content['tokens']:,} tokens of {content['prompts']} prompts"
        for model, content in manifest["models"].items()
    ]
    return f"It speaks for this one base model of each kind ({'; '.join(parts)})."


def _claims(quantities: pd.DataFrame, claims: Path, settings: Settings) -> list[dict[str, Any]]:
    """The ledger's entries on measures, like those of a study, tested on one value per prompt."""
    runs = pd.DataFrame(columns=list(STATISTICS["runs"]))
    token_claims = [claim for claim in read_claims(claims) if isinstance(claim.test, Measure)]
    renamed = quantities.assign(quantity=quantities["quantity"].replace(_NAMES))
    frames = LedgerFrames(runs, renamed.dropna(subset="value"), {})
    return as_json(ledger(token_claims, frames, settings.margin, settings.power))


_NAMES = {"probability": "probability_of_kept", "high_h1_share": "high_entropy_share_of_kept"}  # as claims name them


def _claims_table(claims: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        (
            claim["statement"],
            claim["paper"] or "—",
            estimate_text(claim),
            claim["seeds"],
            f"**{claim['verdict']}**" + (f" ({claim['remark']})" if claim["remark"] else ""),
        )
        for claim in claims
    ]
    return markdown_table(("claim", "the paper", "here", "prompts", "verdict"), rows, "llrrl")


def _origin(manifest: Mapping[str, Any]) -> str:
    rows = [
        (model, content["model_sha256"][:12], content["rollouts_sha256"][:12], content["tokens_sha256"][:12])
        for model, content in manifest["models"].items()
    ]
    source, machine = manifest["source"], manifest["platform"]
    table = markdown_table(("model", "weights", "answers", "tokens"), rows, "llll")
    commit = (source["commit"] or "no commit")[:12]
    return f"{table}\n\nSHA-256 of each content. Code {commit}, on {machine['cpu']}.\n"
