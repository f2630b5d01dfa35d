"""The pages of a study: the overview, and the report, from the files of the other stages."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median_low
from typing import Any

import pandas as pd

from ict_core.config.tuning import rate_of
from ict_core.errors import UserError
from ict_core.evidence.run_faults import run_notes
from ict_core.evidence.stored import Settings, Stored, mixture_note, words
from ict_core.figures.registry import FIGURES, caption, figures_of, sentence_of
from ict_core.markdown import markdown_table
from ict_core.report.answer import answer, main_figure
from ict_core.report.claims import estimate_text, not_tested, stored_claims
from ict_core.report.page import MARKS, folded, page
from ict_core.statistics.calibrated import nearest
from ict_core.statistics.deciding import NOT_TESTED
from ict_core.statistics.schemas import BASE
from ict_core.store.files import write_text
from ict_core.store.layout import StudyFiles
from ict_core.store.manifests import read_manifest
from ict_core.tables.registry import TABLES
from ict_core.tables.table import NONE

_KEPT = {"keeps": "yes", "does not": "**no**"}  # the calibration's verdicts

_READING = """\
## How to read this report

The unit is the training run, identified by its seed. A level's interval speaks for new runs on new problems of these \
kinds, a difference's for new runs on these problems; both are nominal 95 %. Tests are corrected within the family of \
claims that answer one question. `equivalent`: within ±{margin:g} points, by two one-sided tests. `none seen` and \
`not confirmed` are not that the methods are equal: the columns beside them say which difference these runs would have \
found, and how many seeds would find {margin:g} points. `docs/statistics.md` has every test, correction and verdict.
"""


def overview(
    settings: Settings,
    claims: Sequence[Mapping[str, Any]],
    compute: pd.DataFrame,
    manifest: Mapping[str, Any],
    answered: str,
    captioned: str,
) -> str:
    """The first page as Markdown, from the ledger, `records.COMPUTE`, manifest, answer and main figure's caption."""
    main = main_figure(settings)
    figure, figure_file = FIGURES[main], StudyFiles(Path()).figure(main, "png").as_posix()
    parts = [
        f"# {settings.name}\n",
        answered,
        f"{settings.note}\n",
        MARKS,
        f"![{figure.title}]({figure_file})\n\n{captioned}\n",
        "## Verdicts\n",
        _verdicts(claims, settings.margin),
        "## What was run\n",
        _what_was_run(settings, compute, manifest),
        folded("What the arms differ in", _arms(settings)),
        _READING.format(margin=100 * settings.margin),
        _trust(settings),
        folded(
            "What is assumed",
            "Every value below is a key of the configuration; where the paper does not give one, it is this project's "
            "assumption (`configs/` names its sources).\n\n" + _assumed(settings),
        ),
    ]
    return "\n".join(filter(None, parts))


def _what_was_run(settings: Settings, compute: pd.DataFrame, manifest: Mapping[str, Any]) -> str:
    config = settings.whole
    trained = compute[compute["stage"] == "train"]
    tuning = config.get("tuning") or {}
    is_tuning = trained["seed"].isin(tuning.get("seeds", []))
    at_shared_rate = trained["variant"].map(lambda variant: rate_of(variant)[1] is not None) & ~is_tuning
    counts_text = (
        f" ({is_tuning.sum()} of them to choose learning rates by, {at_shared_rate.sum()} at the rate that all share)"
        if is_tuning.any()
        else ""
    )
    blocks = [[", ".join(map(str, block[key])) for key in ("models", "methods", "seeds")] for block in config["grid"]]
    batch_steps = [str(m["batch"]["steps"]) for m in config["methods"].values() if m.get("batch")]
    steps_text = f" ({tuning['steps']} where they choose a rate)" if tuning.get("steps") else ""
    steps_text += f" ({', '.join(dict.fromkeys(batch_steps))} by a batch of their own)" if batch_steps else ""
    samples = config["evaluation"].get("samples_of") or {}
    extra = f" ({', '.join(f'{number} of {name}' for name, number in samples.items())})" * bool(samples)
    sets = ", ".join(f"{b['name']} ({b['problems']}, for {b['mirrors']})" for b in config["benchmarks"])
    commits = ", ".join((source["commit"] or "no commit")[:12] for source in manifest["sources"])
    mixed = mixture_note(manifest)
    lines = [
        markdown_table(["models", "methods", "seeds"], blocks),
        f"{len(trained)} training runs{counts_text} of {config['training']['steps']} optimiser steps{steps_text} on "
        f"{trained['tokens'].sum():,} generated tokens; each base model and each run but those that choose rates "
        f"gave {config['evaluation']['samples']} answers to each problem{extra} of {sets}. All jobs together took "
        f"{compute['seconds'].sum() / 3600:.2f} hours of wall time. Code: {commits}.\n",
        f"**{mixed}**\n" if mixed else "",
    ]
    return "\n".join(filter(None, lines))


def _arms(settings: Settings) -> str:
    """The keys in which compared trainings differ: the proof that a declared factor is the only difference."""
    rows = []
    for variant, arm in settings.arms.items():
        changes = "; ".join(f"{key}: {words(old)} → {words(new)}" for key, old, new in arm.different)
        rows.append((variant, arm.of, arm.factor or NONE, changes, arm.equal))
    return (
        "Every key of a training's resolved configuration in which a variant differs from the one that it varies, "
        "beside its name; all others are equal, but for learning rates that were chosen for each. Where a factor is "
        "declared the loader refuses a method that differs in another key; a group size changes the prompts of a step "
        "with it, as the rollouts of a step stay as many. A variant that declares none stands beside the first "
        "baseline.\n\n"
        + markdown_table(["variant", "beside", "declared factor", "differs in", "equal keys"], rows, "llllr")
    )


def _trust(settings: Settings) -> str:
    """How often the intervals and tests keep their nominal rates at about this study's size, from the calibration."""
    seeds = Counter((model, variant) for model, variant, _ in settings.design.cells if variant != BASE).values()
    rows = nearest([benchmark["problems"] for benchmark in settings.whole["benchmarks"]], median_low(seeds))
    if rows.empty:
        return (
            "No calibration was made at a size as small as this study's: its intervals and tests are untested there.\n"
        )
    size = f"{rows['size'].iloc[0]}, {rows['seeds'].iloc[0]} seeds"
    rows = rows[rows["role"].isin(["primary", "second view"])].sort_values(["role", "quantity"], kind="stable")
    rows = rows.assign(
        nominal=(100 * rows["nominal"]).map("{:.0f}".format),
        rate=(100 * rows["rate"]).map("{:.1f}".format),
        verdict=rows["verdict"].map(_KEPT),
    )
    lines = rows[["quantity", "method", "truth", "nominal", "rate", "verdict"]].itertuples(index=False)
    return (
        "### How often they keep their word\n\nMeasured by simulation at the calibrated size nearest to this study's "
        f"({size}); percent. A nominal 95 % interval keeps its word from 92 to 98, a nominal 5 % test up to 6.\n\n"
        + markdown_table(["of", "method", "for", "nominal", "measured", "keeps its word"], lines, "lllrrl")
    )


def _verdicts(claims: Sequence[Mapping[str, Any]], margin: float) -> str:
    counts = ", ".join(
        f"{count} {verdict}" for verdict, count in Counter(claim["verdict"] for claim in claims).most_common()
    )
    rows = [
        (claim["statement"], claim["paper"] or NONE, estimate_text(claim), f"**{claim['verdict']}**")
        for claim in claims
        if claim["verdict"] != NOT_TESTED
    ]
    rest = not_tested(claims, {"claim": "statement", "why not": "remark"})
    return (
        f"Of {len(claims)} claims and questions: {counts}. Estimates are percent points unless "
        f"a unit is named, with 95 % intervals; the smallest difference of interest is {100 * margin:g} points.\n\n"
        + markdown_table(["claim", "the paper", "this study", "verdict"], rows)
        + (rest and f"\n{rest}")
    )


def _assumed(settings: Settings) -> str:
    config = settings.whole
    parts = ("training", "evaluation", "evidence")
    rows = [(f"{part}.{key}", value) for part in parts for key, value in config[part].items()]
    for name in settings.variants:
        values = ", ".join(f"{key} {value}" for key, value in config["methods"][name].items())
        rows.append((f"methods/{name}", values))
    return markdown_table(["key", "value"], rows)


def write_report(stored: Path, results: Path) -> None:
    """Write `report.md`, `answer.md`, `overview.html` from the other stages' files; a UserError names a missing one."""
    study, files = Stored(stored, results), StudyFiles(results)
    settings = study.settings
    manifest = read_manifest(StudyFiles(stored).manifest)
    claims = stored_claims(files.claims, "run the stage that writes it")["claims"]
    levels, contrasts, validity = (study.frame(name) for name in ("levels", "contrasts", "validity"))
    answer_text = answer(settings, claims, levels, contrasts, study.frame("tuning"), validity, study.averaged)
    captioned = caption(main_figure(settings), study)
    first_page = overview(settings, claims, study.frame("compute"), manifest, answer_text, captioned)
    all_claims = _text(files.claims_text)
    tables = {table.title: _text(files.table(name, "md")) for name, table in TABLES.items()}
    main = files.figure(main_figure(settings), "png")
    images = {main.relative_to(results).as_posix(): _bytes(main)}
    faults = run_notes(study.frame("log"))
    first_page += f"\n## Trainings that went wrong\n\n{faults or 'None, by the rules of thumb of `ict status`.'}\n"
    folds = [folded("Every claim", all_claims), *(folded(title, text) for title, text in tables.items())]
    write_text(files.overview, page(settings.name, "\n".join([first_page, "## Claims and tables\n", *folds]), images))
    write_text(files.answer, f"{answer_text}\n{study.note}\n")
    parts = [first_page, all_claims.replace("# Claims", "## Claims", 1)]
    parts += [f"## {title}\n\n{text}" for title, text in tables.items()]
    for name, figure in figures_of(settings.whole).items():
        image = files.figure(name, "png")
        drawing = f"{caption(name, study)}\n\n![{figure.title}]({image.relative_to(results)})"
        parts.append(f"## {figure.title}\n\n{sentence_of(image) or drawing}\n")
    folder = files.paper.relative_to(results)
    page_of_paper = _text(files.paper_page).replace("\n## ", "\n### ").replace("](figure-", f"]({folder}/figure-")
    parts.append(page_of_paper.replace(f"# {settings.name}: the", "## The", 1))
    write_text(files.report, "\n".join(parts))


def _text(path: Path) -> str:
    return _bytes(path).decode("utf-8")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"{path}: no such file; run the stage that writes it") from error
