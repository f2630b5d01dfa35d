"""The pages of a token study: the claims on tokens, tables and figures, from its stored frames."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ict_core.evidence import LedgerFrames, Measure, Stored, as_json, ledger, read_claims
from ict_core.figures import RC, token_rules
from ict_core.figures import write as write_figure
from ict_core.markdown import markdown_table
from ict_core.report._claims import estimate_text, page
from ict_core.statistics import NOT_TESTED, STATISTICS, Graded
from ict_core.store import StudyFiles, read_manifest, records, write_json, write_text
from ict_core.tables import markdown, token_classes_table, token_rules_table, token_texts_table
from ict_core.tables import write as write_table

_FIGURES = {
    "token_rules": ("What each rule keeps", token_rules.CAPTION),
    "token_overlap": (
        "How far any two rules agree",
        "Above the diagonal the Jaccard index of the tokens that two rules keep, below it Spearman's correlation of "
        "the scores by which they rank the tokens; means over prompts.",
    ),
    "token_single_logit": (
        "One logit's change and the entropies",
        "The sampled token's logit alone is raised or lowered: how often the first-order change of H2 has the exact "
        "one's sign, where π < β and where π > β, and beyond which step it has not. Grey: random distributions. "
        "Coloured: the model's tokens, the mean over prompts in its 95 % t-interval.",
    ),
}


def write_token_pages(stored: Path, results: Path, claims: Path) -> None:
    """Write tables, figures, claims and the page of a token study whose frames lie in the folder `stored`."""
    study, files = Stored(stored), StudyFiles(results)
    frames = {name: records.read_frame(StudyFiles(stored).statistics(name), STATISTICS[name]) for name in _READ}
    frames["overlap"] = study.frame("overlap")
    frames["texts"] = records.read_frame(StudyFiles(stored).token_texts, records.TOKEN_TEXTS)
    rules = list(dict.fromkeys(frames["quantities"]["variant"]))
    manifest = read_manifest(StudyFiles(stored).manifest)
    note = f"{study.settings.note} {_scope(manifest)}"
    tables = [
        token_rules_table(frames["quantity_means"], rules),
        token_classes_table(frames["texts"], rules),
        token_texts_table(frames["texts"], rules),
    ]
    for table in tables:
        write_table(table, files.tables, note)
    _figures(frames, rules, files, note)
    tested = _claims(frames["quantities"], claims, study)
    reported = [claim for claim in tested if claim["verdict"] != NOT_TESTED]
    told_of = {"study": study.settings.name, "unit": "prompt", "note": note}
    write_json(files.claims, {**told_of, "claims": tested})
    text = "\n".join(
        [
            f"# {study.settings.name}: every rule on an untrained model's tokens\n",
            f"**{note}**\n",
            "No model was trained for this page. Every rule is applied to the same answers; the unit of every interval "
            "and test is the prompt, so that they speak for new prompts of these benchmarks and for no other model.\n",
            "## The ledger's claims on tokens\n",
            _claims_table(reported),
            *(f"## {table.title}\n\n{markdown(table)}\n" for table in tables),
            *(
                f"## {title}\n\n![{title}]({_path(files, name)})\n\n{caption}\n"
                for name, (title, caption) in _FIGURES.items()
            ),
            "## Where it comes from\n",
            _origin(manifest),
        ]
    )
    write_text(files.report, text)
    images = {_path(files, name): files.figure(name, "png").read_bytes() for name in _FIGURES}
    write_text(files.overview, page(f"{study.settings.name}: tokens", text, images))


_READ = ("quantities", "quantity_means", "single_logit", "single_logit_bins")


def _path(files: StudyFiles, name: str) -> str:
    return files.figure(name, "png").relative_to(files.results).as_posix()


def _scope(manifest: Mapping[str, Any]) -> str:
    parts = [f"{model}: {of['tokens']:,} tokens of {of['prompts']} prompts" for model, of in manifest["models"].items()]
    return f"It speaks for this one base model of each kind ({'; '.join(parts)})."


def _figures(frames: Mapping[str, pd.DataFrame], rules: Sequence[str], files: StudyFiles, note: str) -> None:
    from matplotlib import rc_context

    from ict_core.figures import overlap, single_logit

    with rc_context(RC):
        drawn = (
            token_rules.draw(frames["quantity_means"], rules),
            overlap.draw(frames["overlap"], rules),
            single_logit.draw(frames["quantities"], frames["single_logit"], frames["single_logit_bins"], rules),
        )
    for name, figure in zip(_FIGURES, drawn, strict=True):
        write_figure(figure, name, files.figures, note)


def _claims(quantities: pd.DataFrame, claims: Path, study: Stored) -> list[dict[str, Any]]:
    """The ledger's entries on measures as a study has them, tested on one value a prompt."""
    settings = study.settings
    runs = pd.DataFrame(columns=list(STATISTICS["runs"]))
    scores = pd.DataFrame(columns=list(records.SCORES))
    of_tokens = [claim for claim in read_claims(claims) if isinstance(claim.test, Measure)]
    named = quantities.assign(quantity=quantities["quantity"].replace(_NAMES))
    frames = LedgerFrames(runs, named.dropna(subset="value"), {}, Graded(scores))
    return as_json(ledger(of_tokens, frames, settings.margin, settings.power))


_NAMES = {"probability": "probability_of_kept", "high_h1_share": "high_entropy_share_of_kept"}  # as claims have them


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
        (model, of["model_sha256"][:12], of["rollouts_sha256"][:12], of["tokens_sha256"][:12])
        for model, of in manifest["models"].items()
    ]
    source, machine = manifest["source"], manifest["platform"]
    table = markdown_table(("model", "weights", "answers", "tokens"), rows, "llll")
    commit = (source["commit"] or "no commit")[:12]
    return f"{table}\n\nSHA-256 of each content. Code {commit}, on {machine['cpu']}.\n"
