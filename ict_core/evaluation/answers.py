"""A checkpoint's answers to problems, by the engine that an evaluation names."""

from pathlib import Path
from typing import Any

import pandas as pd

from ict_core.config.inputs import Model
from ict_core.config.study_file import Evaluation
from ict_core.evaluation.engine import Engine, Sampling, load_engine
from ict_core.evaluation.generate import CachedEngine, context_length, generate, sampler_settings, stop_token_ids
from ict_core.problems.templates import templated
from ict_core.process.startup import loading
from ict_core.store.manifests import check_files

_ENGINES: list[Engine] = []
"""Keeps a job's engine until its process ends: vLLM frees one by a search of the whole heap, which takes seconds."""


def answers(
    checkpoint: Path, model: Model, evaluation: Evaluation, problems: pd.DataFrame, seed: int, cache: Path | None
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Sample a checkpoint's answers to ``records.PROBLEMS``, except those that the folder `cache` has.

    Returns:
        ``records.SAMPLED``, and for a manifest the engine, its settings, and how much was sampled and reused.

    Raises:
        Damaged: the checkpoint is not as it was written.
        UserError: the engine is not available here, or the prompts are longer than the model reads.
    """
    check_files(checkpoint)
    stops = stop_token_ids(checkpoint)
    sampling = Sampling(evaluation.temperature, evaluation.top_p, evaluation.max_new_tokens, stops)
    samples = {str(name): evaluation.samples_for(name) for name in problems["benchmark"].unique()}
    asked_problems = problems.assign(prompt=templated(model.prompt, problems["prompt"]))
    settings = sampler_settings(evaluation.engine, checkpoint, evaluation.threads, model.dtype)

    def load() -> Engine:
        with loading(without=unused(model)):
            length = context_length(checkpoint, asked_problems, sampling.max_new_tokens)
            return load_engine(evaluation.engine, checkpoint, length, evaluation.threads, model.dtype)

    engine = load() if cache is None else CachedEngine(load, cache, settings)
    _ENGINES.append(engine)
    completions = generate(engine, asked_problems, samples, seed, sampling)
    reused = engine.reused if isinstance(engine, CachedEngine) else []
    facts = {
        **{key: settings[key] for key in ("engine", "engine_version", "model_sha256")},
        "completions": len(completions) - len(reused),
        "completions_reused": len(reused),
        "tokens_reused": sum(completion.tokens for completion in reused),
        "engine_settings": engine.settings(sampling),
    }
    return completions, facts


def unused(*models: Model) -> tuple[str, ...]:
    """Packages that vLLM and transformers import if installed: a waste of time if no model needs hardware."""
    return () if any(model.hardware for model in models) else ("scipy",)
