"""The ``ict`` command: one subcommand a stage, and the only place that takes paths.

Heavy packages are imported inside the subcommands, so that each starts with only what it needs.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ict_core.config import BASE_VARIANT, Cell, Study, load_study
from ict_core.config.models import Model, ScratchModel
from ict_core.errors import UserError

REPOSITORY = Path(__file__).resolve().parent.parent
PLAN = "print what a study costs: jobs, hours, memory, disk, and what a change would rerun"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; a :class:`UserError` is printed without a traceback and gives status 2."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ict", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def evidence(name: str, run: object, purpose: str, *paths: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=purpose, description=purpose)
        sub.add_argument("--stored", type=Path, required=True, help="the folder of study.json, scores.parquet, ...")
        sub.add_argument("--results", type=Path, required=True, help="the folder of statistics/, tables/, ...")
        for path in paths:
            sub.add_argument(f"--{path}", type=Path, required=True)
        sub.set_defaults(run=run)
        return sub

    def command(name: str, run: object, purpose: str, *paths: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=purpose, description=purpose)
        sub.add_argument("--study", type=Path, required=True, help="configs/studies/<study>.yaml")
        for path in paths:
            sub.add_argument(f"--{path}", type=Path, required=True)
        sub.set_defaults(run=run)
        return sub

    def of_a_cell(sub: argparse.ArgumentParser) -> None:
        sub.add_argument("--model", required=True)
        sub.add_argument("--variant", required=True)
        sub.add_argument("--seed", type=int, required=True)

    command("check", _check, "check the environment against its lock and the study for mistakes")
    command("data", _data, "make the training and evaluation problems", "train", "eval")
    paths = ("train", "eval", "counts", "pairs")
    command("contamination", _contamination, "compare the evaluation sets with the training data", *paths)
    command("pretrain", _pretrain, "pretrain a base model", "eval", "out").add_argument("--model", required=True)
    command("fetch-model", _fetch_model, "fetch and check a base model", "out").add_argument("--model", required=True)
    of_a_cell(command("train", _train, "train one cell", "base", "problems", "out"))
    paths = ("checkpoint", "problems", "out", "manifest")
    of_a_cell(command("generate", _generate, "sample a cell's completions", *paths))
    probe = ("completion-probe", _completion_probe, "ask a base model for the rest of partial questions")
    command(*probe, "checkpoint", "problems", "out").add_argument("--model", required=True)
    command("completion-table", _completion_table, "the table of all models' completion probes", "results")
    command("grade", _grade, "grade a cell's completions", "completions", "problems", "out")
    command("settings", _settings, "write the settings that the evidence is read by", "out")
    command("collect", _collect, "gather what all cells left into the study's files", "results")
    evidence("statistics", _statistics, "runs, levels, contrasts, second views, components", "claims")
    evidence("tables", _tables, "make every table", "paper")
    evidence("figure", _figure, "make one figure").add_argument("--name", required=True)
    evidence("claims", _claims, "test every claim of the ledger", "claims")
    evidence("notebook", _notebook, "execute a notebook on the study", "notebook")
    _plan_options(commands.add_parser("plan", help=PLAN, description=PLAN))
    evidence("report", _report, "write the overview, the report and the manifests' page")
    purpose = "run a command with GPUs of its own, waiting until they are free"
    lease = commands.add_parser("lease", help=purpose, description=purpose)
    lease.add_argument("--gpus", type=int, required=True, help="how many; with 0 the command sees none")
    lease.add_argument("command", nargs="+", help="after --")
    lease.set_defaults(run=_lease)
    return parser


def _plan_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("study", type=Path, help="configs/studies/<study>.yaml")
    sub.add_argument("--gpu", help="a key of gpus in configs/plan.yaml (default: its gpu)")
    sub.add_argument("--results", type=Path, help="the folder of finished jobs to measure by (default: the study's)")
    sub.add_argument("--no-dag", action="store_true", help="do not ask Snakemake what would run")
    sub.set_defaults(run=_plan)


def _plan(options: argparse.Namespace) -> None:
    from ict_core.plan.assumptions import gpu_device, read_plan
    from ict_core.plan.measured import measured_rates
    from ict_core.plan.page import plan_page
    from ict_core.plan.rerun import rule_runs

    study = load_study(options.study)
    repository = _repository(options)
    plan = read_plan(repository / "configs" / "plan.yaml")
    gpu = options.gpu or plan.gpu
    gpu_device(plan, gpu)
    if options.results is not None and not options.results.is_dir():
        raise UserError(f"--results {options.results}: no such folder")
    results = options.results or repository / "results" / study.name
    rates = measured_rates(results)
    rules = None if options.no_dag else rule_runs(options.study, repository)
    print(plan_page(study, plan, gpu, results, rates, rules), end="")


def _prepare() -> None:
    """Set what libraries read when they are imported; the stages that may download do not call this."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    os.environ["HF_HUB_OFFLINE"] = "1"


def _check(options: argparse.Namespace) -> None:
    from ict_core.environment import applicable_lock, check_environment

    check_environment(applicable_lock(REPOSITORY / "requirements"))
    study = load_study(options.study)
    print(f"{study.name}: {len(study.cells())} cells to train, {len(study.base_cells())} base model(s)")


def _data(options: argparse.Namespace) -> None:
    from ict_core import records
    from ict_core.benchmarks.assemble import study_problems

    study = load_study(options.study)
    train, held_out = study_problems(study, _mirror(study, options))
    records.write_frame(held_out, options.eval, records.PROBLEMS)
    records.write_frame(train, options.train, records.PROBLEMS)


def _contamination(options: argparse.Namespace) -> None:
    from ict_core import records
    from ict_core.contamination.audit import audit
    from ict_core.contamination.questions import templates

    study = load_study(options.study)
    train, held_out = (records.read_frame(path, records.PROBLEMS) for path in (options.train, options.eval))
    counts, pairs = audit(train, held_out, templates(study), study.grading.dump())
    records.write_frame(pairs, options.pairs, records.NEAR_DUPLICATES)
    records.write_frame(counts, options.counts, records.CONTAMINATION)
    print(counts.to_string(index=False))


def _repository(options: argparse.Namespace) -> Path:
    """The folder at which the configuration's relative paths start."""
    return options.study.resolve().parents[2]  # above configs/studies/


def _mirror(study: Study, options: argparse.Namespace) -> Path | None:
    return _repository(options) / study.data.mirror if study.data.mirror else None


def _fetch_model(options: argparse.Namespace) -> None:
    from ict_core.benchmarks.assemble import check_study_access
    from ict_core.checkpoints import fetch_model

    study = load_study(options.study)
    model, file = _model(study, options), f"configs/models/{options.model}.yaml"
    if isinstance(model, ScratchModel):
        raise UserError(f"{file}: kind {model.kind} is pretrained, not fetched")
    check_study_access(
        study, _mirror(study, options)
    )  # gigabytes for a study that cannot have its data are for nothing
    resolved = study.stage_config("base", Cell(options.model, BASE_VARIANT, 0))
    fetch_model(model, file, _repository(options), resolved, options.out)


def _pretrain(options: argparse.Namespace) -> None:
    study = load_study(options.study)
    _prepare()
    from ict_core import records
    from ict_core.training.pretrain import pretrain

    held_out = records.read_frame(options.eval, records.PROBLEMS)
    model = _model(study, options)
    if not isinstance(model, ScratchModel):
        raise UserError(f"configs/models/{options.model}.yaml: kind {model.kind} is not pretrained here")
    resolved = study.stage_config("base", Cell(options.model, BASE_VARIANT, 0))
    losses = pretrain(model.architecture, model.pretraining, set(held_out["prompt"]), resolved, options.out)
    tail = losses[-50:]
    print(
        f"{options.model}: {len(losses)} steps, loss over the last {len(tail)}: {sum(tail) / len(tail):.4f} nats/token"
    )


def _train(options: argparse.Namespace) -> None:
    study = load_study(options.study)
    _prepare()
    from ict_core import records
    from ict_core.training.run import train

    cell = _cell(study, options)
    train(
        base=options.base,
        problems=records.read_frame(options.problems, records.PROBLEMS),
        model=study.models[cell.model],
        training=study.training_of(cell.model),
        method=study.methods[cell.variant],
        seed=cell.seed,
        grading=study.grading.dump(),
        resolved=study.resolve(cell),
        out=options.out,
    )


def _generate(options: argparse.Namespace) -> None:
    study = load_study(options.study)
    _prepare()
    from ict_core import records
    from ict_core.benchmarks.templates import templated
    from ict_core.evaluation.engines import Sampling, load_engine
    from ict_core.evaluation.generate import context_length, generate, stop_token_ids
    from ict_core.provenance import cost, hash_weights, manifest, write_json

    cell = _cell(study, options)
    evaluation, model = study.evaluation, study.models[cell.model]
    problems = records.read_frame(options.problems, records.PROBLEMS)
    problems["prompt"] = templated(model.prompt, problems["prompt"])
    started = time.perf_counter()
    length = context_length(options.checkpoint, problems, evaluation.max_new_tokens)
    engine = load_engine(evaluation.engine, options.checkpoint, length, evaluation.threads, model.dtype)
    sampling = Sampling(
        evaluation.temperature, evaluation.top_p, evaluation.max_new_tokens, stop_token_ids(options.checkpoint)
    )
    samples = {benchmark: evaluation.samples_for(benchmark) for benchmark in study.benchmarks}
    completions = generate(engine, problems, samples, cell.seed, sampling)
    facts = {
        "stage": "generate",
        "engine": engine.name,
        "engine_version": engine.version,
        "model_sha256": hash_weights(options.checkpoint),
        **cost(started, int(completions["tokens"].sum())),
    }
    write_json(options.manifest, manifest(study.stage_config("generate", cell)) | facts)
    records.write_frame(completions, options.out, records.COMPLETIONS)
    print(f"{engine.name} {engine.version}: {len(completions)} completions, {completions['tokens'].sum()} tokens")


def _completion_probe(options: argparse.Namespace) -> None:
    study = load_study(options.study)
    _prepare()
    from ict_core import records
    from ict_core.contamination.completion_probe import completion_probe
    from ict_core.contamination.questions import templates
    from ict_core.evaluation.engines import load_engine
    from ict_core.evaluation.generate import context_length, stop_token_ids

    evaluation = study.evaluation
    problems = records.read_frame(options.problems, records.PROBLEMS)
    length = context_length(options.checkpoint, problems, evaluation.max_new_tokens)  # as a part is no longer
    dtype = _model(study, options).dtype
    engine = load_engine(evaluation.engine, options.checkpoint, length, evaluation.threads, dtype)
    stops = stop_token_ids(options.checkpoint)
    probe = completion_probe(engine, problems, templates(study), stops, evaluation.max_new_tokens)
    records.write_frame(probe, options.out, records.COMPLETION_PROBE)
    print(f"{engine.name} {engine.version}: {options.model}, {len(probe)} partial questions")


def _completion_table(options: argparse.Namespace) -> None:
    from ict_core import records
    from ict_core.tables.completion_probe import completion_probe_table
    from ict_core.tables.write import write

    study = load_study(options.study)
    files = {model: options.results / model / BASE_VARIANT / "completion_probe.parquet" for model in study.models}
    probes = {model: records.read_frame(file, records.COMPLETION_PROBE) for model, file in files.items()}
    write(completion_probe_table(probes, study.benchmarks), options.results / "tables", study.note)


def _grade(options: argparse.Namespace) -> None:
    from ict_core import records
    from ict_core.grading.grade import grade_completions

    _prepare()
    study = load_study(options.study)
    completions = records.read_frame(options.completions, records.COMPLETIONS)
    problems = records.read_frame(options.problems, records.PROBLEMS)
    grades = grade_completions(completions, problems, workers=1, **study.grading.dump())
    records.write_frame(grades, options.out, records.GRADES)
    print(grades.groupby("benchmark")["status"].value_counts().unstack(fill_value=0).to_string())


def _settings(options: argparse.Namespace) -> None:
    from ict_core.provenance import write_json

    write_json(options.out, load_study(options.study).stage_config("evidence"))


def _collect(options: argparse.Namespace) -> None:
    from ict_core.collect import collect

    study = load_study(options.study)
    collect(options.results, study.base_cells(), study.cells(), list(study.benchmarks))


def _statistics(options: argparse.Namespace) -> None:
    from ict_core import records
    from ict_core.evidence.claims import declared_pairs, read_claims
    from ict_core.evidence.stored import STATISTICS, Stored
    from ict_core.seeding import generator
    from ict_core.statistics.analysis import analyse
    from ict_core.statistics.schemas import STATISTICS as SCHEMAS

    study = Stored(options.stored)
    settings = study.settings
    analysis = analyse(
        study.frame("scores"),
        settings.variants,
        settings.baselines,
        declared_pairs(read_claims(options.claims)),
        settings.margin,
        settings.power,
        generator(0, "second views"),
    )
    for name, columns in SCHEMAS.items():
        records.write_frame(getattr(analysis, name), options.results / STATISTICS / f"{name}.parquet", columns)


def _tables(options: argparse.Namespace) -> None:
    from dataclasses import fields

    from ict_core.evidence.stored import Stored
    from ict_core.tables.build import build_tables
    from ict_core.tables.frames import Frames, TableSettings
    from ict_core.tables.paper import read_paper

    study = Stored(options.stored, options.results)
    s = study.settings
    shown = TableSettings(s.variants, s.baselines, s.mirrors, s.margin, s.power, read_paper(options.paper))
    frames = Frames(*(study.frame(field.name) for field in fields(Frames)))
    build_tables(frames, shown, s.note, options.results / "tables")


def _figure(options: argparse.Namespace) -> None:
    from ict_core.evidence.stored import Stored
    from ict_core.figures.registry import FIGURES, draw
    from ict_core.figures.write import write

    if options.name not in FIGURES:
        raise UserError(f"figure {options.name!r} is unknown; allowed: {', '.join(FIGURES)}")
    study = Stored(options.stored, options.results)
    write(draw(options.name, study), options.name, options.results / "figures", study.settings.note)


def _claims(options: argparse.Namespace) -> None:
    from ict_core.evidence.claims import read_claims
    from ict_core.evidence.ledger import Evidence, as_json, ledger
    from ict_core.evidence.stored import Stored
    from ict_core.files import write_text
    from ict_core.provenance import write_json
    from ict_core.report.claims import claims_page
    from ict_core.report.page import page

    study = Stored(options.stored, options.results)
    settings = study.settings
    evidence = Evidence(study.frame("runs"), study.frame("log"), study.frame("tokens"), settings.mirrors)
    claims = as_json(ledger(read_claims(options.claims), evidence, settings.margin, settings.power))
    text = claims_page(settings.name, settings.note, claims, settings.margin, settings.power)
    write_text(options.results / "claims.md", text)
    write_text(options.results / "claims.html", page(f"{settings.name}: claims", text))
    write_json(options.results / "claims.json", {"study": settings.name, "note": settings.note, "claims": claims})


def _notebook(options: argparse.Namespace) -> None:
    from ict_core.report.notebook import execute

    execute(options.notebook, options.stored, options.results)


def _report(options: argparse.Namespace) -> None:
    from ict_core.report.build import write_report

    write_report(options.stored, options.results)


def _lease(options: argparse.Namespace) -> None:
    from ict_core.devices import run_leased

    run_leased(options.gpus, options.command)


def _model(study: Study, options: argparse.Namespace) -> Model:
    """The model that the options name; an error if the study has no such model."""
    if options.model not in study.models:
        raise UserError(f"{options.study}: no model {options.model}; allowed: {', '.join(study.models)}")
    return study.models[options.model]


def _cell(study: Study, options: argparse.Namespace) -> Cell:
    """The cell that the options name; an error if the study has no such cell."""
    cell = Cell(options.model, options.variant, options.seed)
    known = study.evaluated_cells()
    if cell not in known:
        alike = [c for c in known if c.model == cell.model and c.variant == cell.variant]
        hint = f"its seeds there: {[c.seed for c in alike]}" if alike else "see the study's grid"
        raise UserError(f"{options.study}: no cell {cell.model}/{cell.variant}/seed-{cell.seed}; {hint}")
    return cell


if __name__ == "__main__":
    raise SystemExit(main())
