"""The subcommands that make from stored files all that is shown; none imports torch or vLLM."""

import argparse

from ict_core.errors import UserError


def statistics(options: argparse.Namespace) -> None:
    """Compute runs, levels, contrasts, second views, components and what is said of tokens."""
    from ict_core.evidence.claims import declared_pairs, read_claims
    from ict_core.evidence.files import MADE, MEASURED
    from ict_core.evidence.stored import Stored
    from ict_core.evidence.token_statistics import token_frames
    from ict_core.seeding import generator
    from ict_core.statistics.analysis import analyse
    from ict_core.statistics.design import check_scores
    from ict_core.statistics.schemas import STATISTICS as SCHEMAS
    from ict_core.store import records

    study = Stored(options.stored)
    settings, scores = study.settings, study.frame("scores")
    check_scores(scores, settings.design, options.stored / MEASURED["scores"])
    analysis = analyse(
        scores,
        settings.variants,
        settings.baselines,
        declared_pairs(read_claims(options.claims)),
        [(variant, arm.of) for variant, arm in settings.arms.items() if arm.factor is not None],
        settings.margin,
        settings.power,
        generator(0, "second views"),
        settings.reruns(),
    )
    log, tokens, shadow = (study.frame(name) for name in ("log", "tokens", "shadow"))
    of_tokens = token_frames(log, tokens, shadow, settings.variants, settings.shared, settings.baselines[0])
    for name, frame in (vars(analysis) | of_tokens).items():
        records.write_frame(frame, options.results / MADE[name], SCHEMAS[name])


def tables(options: argparse.Namespace) -> None:
    """Make every table."""
    from ict_core.evidence.stored import Stored
    from ict_core.tables.build import build_tables
    from ict_core.tables.frames import TableSettings
    from ict_core.tables.published import read_paper
    from ict_core.tables.registry import INPUTS

    study = Stored(options.stored, options.results)
    s = study.settings
    shown = TableSettings(s.variants, s.baselines, s.mirrors, s.margin, s.power, read_paper(options.paper), s.arms)
    frames = {name: study.frame(name) for name in INPUTS}
    build_tables(frames, shown, study.note, options.results / "tables", study.mixed)


def figure(options: argparse.Namespace) -> None:
    """Make one figure."""
    from ict_core.evidence.stored import Stored
    from ict_core.figures.registry import FIGURES, draw, note
    from ict_core.figures.write import write

    if options.name not in FIGURES:
        raise UserError(f"figure {options.name!r} is unknown; allowed: {', '.join(FIGURES)}")
    study = Stored(options.stored, options.results)
    write(draw(options.name, study), options.name, options.results / "figures", note(options.name, study))


def claims(options: argparse.Namespace) -> None:
    """Test every claim of the ledger."""
    from ict_core.evidence.claims import read_claims
    from ict_core.evidence.ledger import Evidence, as_json, ledger
    from ict_core.evidence.stored import Stored
    from ict_core.report.claims import claims_page
    from ict_core.report.page import page
    from ict_core.statistics.graded import Graded
    from ict_core.store.files import write_text
    from ict_core.store.provenance import write_json

    study = Stored(options.stored, options.results)
    settings = study.settings
    runs, quantities, scores = (study.frame(name) for name in ("runs", "quantities", "scores"))
    evidence = Evidence(runs, quantities, settings.mirrors, Graded(scores))
    claims = as_json(ledger(read_claims(options.claims), evidence, settings.margin, settings.power))
    text = claims_page(settings.name, study.note, claims, settings.margin, settings.power)
    write_text(options.results / "claims.md", text)
    write_text(options.results / "claims.html", page(f"{settings.name}: claims", text))
    write_json(options.results / "claims.json", {"study": settings.name, "note": settings.note, "claims": claims})


def notebook(options: argparse.Namespace) -> None:
    """Execute a notebook on the study."""
    from ict_core.report.notebook import execute

    execute(options.notebook, options.stored, options.results)


def report(options: argparse.Namespace) -> None:
    """Write the overview, the report and the manifests' page."""
    from ict_core.report.build import write_report

    write_report(options.stored, options.results)
