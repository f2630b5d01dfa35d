"""The subcommands of the stages that a study runs, from its problems to the collected scores.

Packages are imported inside the subcommands, so that each starts with only what it needs.
"""

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ict_core.config.repository import REPOSITORY
from ict_core.errors import UserError
from ict_core.process import numerics
from ict_core.process.startup import loading

if TYPE_CHECKING:
    from ict_core.config import Cell, Study
    from ict_core.config.models import Model
    from ict_core.config.training import Training


def load_study(path: Path) -> "Study":
    """`config.load_study`, imported by the commands that read a study."""
    from ict_core import config

    return config.load_study(path)


def study_to_run(path: Path) -> "Study":
    """Read a study, and hold what is imported from here on to its numerics: before a stage imports anything else."""
    study = load_study(path)
    numerics.use(study.numerics)
    return study


def prepare() -> None:
    """Set what libraries read when they are imported; the stages that may download do not call this."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # transformers' too: the stages show their own progress
    os.environ["HF_HUB_OFFLINE"] = "1"


def check(options: argparse.Namespace) -> None:
    """Check the environment against its lock, and the study for mistakes and folders that are not there."""
    study = study_to_run(options.study)
    from ict_core.config.sources import check_sources
    from ict_core.process.environment import applicable_lock, check_environment, check_trackers

    check_environment(applicable_lock(REPOSITORY / "requirements"))
    check_trackers(study.trackers)
    root = repository(options)
    check_sources(study, root, root / "results" / study.name)
    print(f"{study.name}: {len(study.cells())} cells to train, {len(study.base_cells())} base model(s)")


def data(options: argparse.Namespace) -> None:
    """Make the training and evaluation problems."""
    study = study_to_run(options.study)
    from ict_core.problems.assemble import study_problems
    from ict_core.store import records

    train, held_out = study_problems(study, _mirror(study, options))
    records.write_frame(held_out, options.eval, records.PROBLEMS)
    records.write_frame(train, options.train, records.PROBLEMS)


def contamination(options: argparse.Namespace) -> None:
    """Compare the evaluation sets with the training data."""
    study = study_to_run(options.study)
    from ict_core.contamination.audit import audit
    from ict_core.store import records

    train, held_out = (records.read_frame(path, records.PROBLEMS) for path in (options.train, options.eval))
    counts, pairs = audit(train, held_out, study.grading.dump())
    records.write_frame(pairs, options.pairs, records.NEAR_DUPLICATES)
    records.write_frame(counts, options.counts, records.CONTAMINATION)
    print(counts.to_string(index=False))


def repository(options: argparse.Namespace) -> Path:
    """The folder at which the configuration's relative paths start."""
    from ict_core.config.mistakes import repository as of_study

    return of_study(options.study)


def _mirror(study: "Study", options: argparse.Namespace) -> Path | None:
    return repository(options) / study.data.mirror if study.data.mirror else None


def fetch_model(options: argparse.Namespace) -> None:
    """Fetch and check a base model."""
    study = study_to_run(options.study)
    from ict_core.config.models import ScratchModel

    model, file = _model(study, options), f"configs/models/{options.model}.yaml"
    if isinstance(model, ScratchModel):
        raise UserError(f"{file}: kind {model.kind} is pretrained, not fetched")
    with loading():
        from ict_core.config.sources import has_problems
        from ict_core.models.fetch import fetch_model
        from ict_core.problems.assemble import check_study_access
        from ict_core.store.provenance import remember_source

    # gigabytes for a study that cannot have its data are for nothing
    remember_source()
    if not has_problems(repository(options) / "results" / study.name):
        check_study_access(study, _mirror(study, options))
    resolved = study.stage_config("base", _base_cell(options.model))
    fetch_model(model, file, repository(options), resolved, options.out)


def pretrain(options: argparse.Namespace) -> None:
    """Pretrain a base model."""
    study = study_to_run(options.study)
    prepare()
    with loading(without=("scipy",)):
        from ict_core.config.models import ScratchModel
        from ict_core.store import records
        from ict_core.store.provenance import remember_source
        from ict_core.training.pretrain import pretrain

    held_out = records.read_frame(options.eval, records.PROBLEMS)
    model = _model(study, options)
    if not isinstance(model, ScratchModel):
        raise UserError(f"configs/models/{options.model}.yaml: kind {model.kind} is not pretrained here")
    remember_source()
    resolved = study.stage_config("base", _base_cell(options.model))
    losses = pretrain(model.architecture, model.pretraining, set(held_out["prompt"]), resolved, options.out)
    tail = losses[-50:]
    print(
        f"{options.model}: {len(losses)} steps, loss over the last {len(tail)}: {sum(tail) / len(tail):.4f} nats/token"
    )


def train(options: argparse.Namespace) -> None:
    """Train one cell."""
    study = study_to_run(options.study)
    from ict_core.process.environment import check_trackers

    prepare()
    cell = _cell(study, options)
    check_trackers(study.trackers)
    if study.trackers and options.trackers is None:
        raise UserError(f"{options.study}: trackers: {', '.join(study.trackers)} need a folder; give --trackers FOLDER")
    training = study.training_of(cell.model, cell.variant)
    with loading(without=_unused(training)):
        from ict_core.store import records
        from ict_core.store.provenance import check_files, remember_source
        from ict_core.training.run import train
        from ict_core.training.watching import Tracking

    remember_source()
    check_files(options.base)
    train(
        base=options.base,
        problems=records.read_frame(options.problems, records.PROBLEMS),
        model=study.models[cell.model],
        training=training,
        method=study.methods[cell.variant],
        seed=study.training_seed(cell),
        grading=study.grading.dump(),
        resolved=study.resolve(cell),
        out=options.out,
        known_forks=not study.train_sets,
        tracking=Tracking(study.trackers, options.trackers, study.name, cell.folder) if study.trackers else None,
        stop_after=options.stop_after,
    )


def _unused(training: "Training") -> tuple[str, ...]:
    """Packages that transformers and TRL import wherever they are installed, and that this recipe has no use for."""
    return (*(() if training.lora else ("peft",)), *(() if training.rollouts else ("scipy",)))  # vLLM needs scipy


def generate(options: argparse.Namespace) -> None:
    """Sample a cell's completions."""
    study = study_to_run(options.study)
    prepare()
    from ict_core.evaluation.cache import CachedEngine, sampler_settings
    from ict_core.evaluation.engine import Engine, Sampling
    from ict_core.evaluation.engines import load_engine
    from ict_core.evaluation.generate import context_length, generate, stop_token_ids
    from ict_core.problems.templates import templated
    from ict_core.store import records
    from ict_core.store.provenance import check_files, cost, manifest, remember_source, write_manifest

    started = time.perf_counter()
    remember_source()
    check_files(options.checkpoint)
    cell = _cell(study, options)
    evaluation, model = study.evaluation, study.models[cell.model]
    problems = records.read_frame(options.problems, records.PROBLEMS)
    problems["prompt"] = templated(model.prompt, problems["prompt"])
    samples = {benchmark: evaluation.samples_for(benchmark) for benchmark in study.benchmarks}
    settings = sampler_settings(evaluation.engine, options.checkpoint, evaluation.threads, model.dtype)
    sampling = Sampling(
        evaluation.temperature, evaluation.top_p, evaluation.max_new_tokens, stop_token_ids(options.checkpoint)
    )

    def load() -> Engine:
        # where a model needs no hardware, time is mostly imports; vLLM and transformers import SciPy if they find it
        with loading(without=() if model.hardware else ("scipy",)):
            length = context_length(options.checkpoint, problems, evaluation.max_new_tokens)
            return load_engine(evaluation.engine, options.checkpoint, length, evaluation.threads, model.dtype)

    engine = load() if options.cache is None else CachedEngine(load, options.cache, settings)
    completions = generate(engine, problems, samples, cell.seed, sampling)
    reused = engine.reused if isinstance(engine, CachedEngine) else []
    tokens_reused = sum(completion.tokens for completion in reused)
    facts = {
        "stage": "generate",
        **{key: settings[key] for key in ("engine", "engine_version", "model_sha256")},
        "completions": len(completions) - len(reused),
        "completions_reused": len(reused),
        "tokens_reused": tokens_reused,
        "engine_settings": engine.settings(sampling),
        "problems_sha256": records.content_hash(options.problems),
        "completions_sha256": records.frame_hash(completions, records.COMPLETIONS),
        **cost(started, int(completions["tokens"].sum()) - tokens_reused),
    }
    write_manifest(options.manifest, manifest(study.stage_config("generate", cell)) | facts)
    records.write_frame(completions, options.out, records.COMPLETIONS)
    print(
        f"{settings['engine']} {settings['engine_version']}: {facts['completions']} completions of {facts['tokens']} "
        f"tokens sampled, {len(reused)} of {tokens_reused} tokens reused"
    )


def completion_probe(options: argparse.Namespace) -> None:
    """Ask a base model for the rest of partial questions."""
    study = study_to_run(options.study)
    prepare()
    from ict_core.contamination.completion_probe import completion_probe, templates
    from ict_core.evaluation.engines import engine_version, load_engine
    from ict_core.evaluation.generate import context_length, stop_token_ids
    from ict_core.store import records
    from ict_core.store.provenance import check_files

    check_files(options.checkpoint)
    evaluation = study.evaluation
    problems = records.read_frame(options.problems, records.PROBLEMS)
    length = context_length(options.checkpoint, problems, evaluation.max_new_tokens)  # as a part is no longer
    dtype = _model(study, options).dtype
    engine = load_engine(evaluation.engine, options.checkpoint, length, evaluation.threads, dtype)
    stops = stop_token_ids(options.checkpoint)
    probe = completion_probe(engine, problems, templates(study), stops, evaluation.max_new_tokens)
    records.write_frame(probe, options.out, records.COMPLETION_PROBE)
    print(f"{engine.name} {engine_version(engine.name)}: {options.model}, {len(probe)} partial questions")


def completion_table(options: argparse.Namespace) -> None:
    """Write the table of all models' completion probes."""
    study = study_to_run(options.study)
    from ict_core.store import records
    from ict_core.tables.completion_probe import completion_probe_table
    from ict_core.tables.write import write

    files = {
        cell.model: options.results / cell.model / cell.variant / "completion_probe.parquet"
        for cell in study.base_cells()
    }
    probes = {model: records.read_frame(file, records.COMPLETION_PROBE) for model, file in files.items()}
    write(completion_probe_table(probes, study.benchmarks), options.results / "tables", study.note)


def grade(options: argparse.Namespace) -> None:
    """Grade a cell's completions."""
    study = study_to_run(options.study)
    from ict_core.grading.grade import grade_completions
    from ict_core.store import records
    from ict_core.store.provenance import cost, manifest, remember_source, write_manifest

    started = time.perf_counter()
    remember_source()
    prepare()
    completions = records.read_frame(options.completions, records.COMPLETIONS)
    problems = records.read_frame(options.problems, records.PROBLEMS)
    grades = grade_completions(completions, problems, workers=options.workers, **study.grading.dump())
    facts = {
        "stage": "grade",
        "workers": options.workers,
        "problems_sha256": records.content_hash(options.problems),
        "completions_sha256": records.content_hash(options.completions),
        "grades_sha256": records.frame_hash(grades, records.GRADES),
        **cost(started, tokens=0),
    }
    write_manifest(options.manifest, manifest(study.stage_config("grade")) | facts)
    records.write_frame(grades, options.out, records.GRADES)
    print(grades.groupby("benchmark")["status"].value_counts().unstack(fill_value=0).to_string())


def settings(options: argparse.Namespace) -> None:
    """Write the settings that the evidence is read by."""
    from ict_core.store.provenance import write_manifest

    write_manifest(options.out, load_study(options.study).stage_config("evidence"))


def collect(options: argparse.Namespace) -> None:
    """Gather what all cells left into the study's files."""
    study = study_to_run(options.study)
    from ict_core.evidence.collect import collect

    collect(options.results, study.base_cells(), study.cells(), list(study.benchmarks))


def _model(study: "Study", options: argparse.Namespace) -> "Model":
    """The model that the options name; an error if the study has no such model."""
    if options.model not in study.models:
        raise UserError(f"{options.study}: no model {options.model}; allowed: {', '.join(study.models)}")
    return study.models[options.model]


def _base_cell(model: str) -> "Cell":
    from ict_core.config import BASE_VARIANT, Cell

    return Cell(model, BASE_VARIANT, 0)


def _cell(study: "Study", options: argparse.Namespace) -> "Cell":
    """The cell that the options name; an error if the study has no such cell."""
    from ict_core.config import Cell

    cell = Cell(options.model, options.variant, options.seed)
    known = study.evaluated_cells()
    if cell not in known:
        alike = [c for c in known if c.model == cell.model and c.variant == cell.variant]
        hint = f"its seeds there: {[c.seed for c in alike]}" if alike else "see the study's grid"
        raise UserError(f"{options.study}: no cell {cell.folder}; {hint}")
    return cell
