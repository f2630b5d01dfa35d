"""A cell's completions of all benchmarks."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ict_core.config import Cell, Model, Study
from ict_core.evaluation import (
    CachedEngine,
    Engine,
    Sampling,
    context_length,
    generate,
    load_engine,
    sampler_settings,
    stop_token_ids,
)
from ict_core.problems import templated
from ict_core.process import loading
from ict_core.store import check_files, cost, manifest, records, remember_source, write_manifest

_ENGINES: list[Engine] = []
"""Keeps a job's engine until its process ends: vLLM ends one by a look through the whole heap, which takes seconds."""


def run(
    study: Study, cell: Cell, checkpoint: Path, problems: Path, cache: Path | None, out: Path, manifest_file: Path
) -> None:
    """Sample a cell's completions by its model but for those in `cache`, into ``records.COMPLETIONS``."""
    started = time.perf_counter()
    remember_source()
    completions, facts = sample(study, cell, checkpoint, problems, cache)
    completions = completions[list(records.COMPLETIONS)]
    facts = {
        "stage": "generate",
        **facts,
        "problems_sha256": records.content_hash(problems),
        "completions_sha256": records.frame_hash(completions, records.COMPLETIONS),
        **cost(started, int(completions["tokens"].sum()) - facts["tokens_reused"]),
    }
    write_manifest(manifest_file, manifest(study.stage_config("generate", cell)) | facts)
    records.write_frame(completions, out, records.COMPLETIONS)
    print(
        f"{facts['engine']} {facts['engine_version']}: {facts['completions']} completions of {facts['tokens']} "
        f"tokens sampled, {facts['completions_reused']} of {facts['tokens_reused']} tokens reused"
    )


def sample(
    study: Study, cell: Cell, checkpoint: Path, problems: Path, cache: Path | None
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The cell's completions, ``records.SAMPLED``; and for a manifest engine, settings, what was sampled and reused."""
    check_files(checkpoint)
    evaluation = study.evaluation
    asked = templated_problems(study, cell.model, problems)
    samples = {benchmark: evaluation.samples_for(benchmark) for benchmark in study.benchmarks}
    sampling = Sampling(evaluation.temperature, evaluation.top_p, evaluation.max_new_tokens, stop_token_ids(checkpoint))
    return answers(study, cell, checkpoint, Asked(asked, samples, sampling), cache)


class Asked(NamedTuple):
    """What a model is asked."""

    problems: pd.DataFrame  # `records.PROBLEMS`, prompts as the model is given them
    samples: Mapping[str, int]  # completions a problem, by benchmark
    sampling: Sampling


def answers(
    study: Study, cell: Cell, checkpoint: Path, asked: Asked, cache: Path | None
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """As :func:`sample`, to whatever is asked, by the evaluation's engine."""
    evaluation, model, sampling = study.evaluation, study.models[cell.model], asked.sampling
    settings = sampler_settings(evaluation.engine, checkpoint, evaluation.threads, model.dtype)

    def load() -> Engine:
        with loading(without=unused(model)):
            length = context_length(checkpoint, asked.problems, sampling.max_new_tokens)
            return load_engine(evaluation.engine, checkpoint, length, evaluation.threads, model.dtype)

    engine = load() if cache is None else CachedEngine(load, cache, settings)
    _ENGINES.append(engine)
    completions = generate(engine, asked.problems, asked.samples, cell.seed, sampling)
    reused = engine.reused if isinstance(engine, CachedEngine) else []
    facts = {
        **{key: settings[key] for key in ("engine", "engine_version", "model_sha256")},
        "completions": len(completions) - len(reused),
        "completions_reused": len(reused),
        "tokens_reused": sum(completion.tokens for completion in reused),
        "engine_settings": engine.settings(sampling),
    }
    return completions, facts


def templated_problems(study: Study, model: str, problems: Path) -> pd.DataFrame:
    """``records.PROBLEMS`` with the prompts as a model of the study is given them."""
    asked = records.read_frame(problems, records.PROBLEMS)
    return asked.assign(prompt=templated(study.models[model].prompt, asked["prompt"]))


def unused(model: Model) -> tuple[str, ...]:
    """Packages that vLLM and transformers import if they find them: time, where a model needs no hardware."""
    return () if model.hardware else ("scipy",)
