"""One training run: from a base checkpoint and problems to a model, its log and its manifest."""

import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import transformers
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

from ict_core import records
from ict_core.config.methods import Method
from ict_core.config.training import Training
from ict_core.grading.pool import GradingPool
from ict_core.provenance import cost, hash_file, manifest, write_json
from ict_core.seeding import derive_seed
from ict_core.training.memory import reuse_freed_memory
from ict_core.training.recipe import grpo_config
from ict_core.training.rewards import verifier_reward
from ict_core.training.token_log import TrainingLog
from ict_core.training.trainer import SelectiveGRPOTrainer


def train(
    base: Path,
    problems: pd.DataFrame,
    training: Training,
    method: Method,
    seed: int,
    grading: dict[str, Any],
    resolved: dict[str, Any],
    out: Path,
) -> None:
    """Train one cell and write ``out``, which appears whole or not at all.

    Args:
        base: the base checkpoint.
        problems: ``records.PROBLEMS``, the training problems.
        training: the shared recipe.
        method: the selection rule.
        seed: the cell's seed.
        grading: the limits of the verifier, as keywords of ``GradingPool``.
        resolved: the cell's resolved configuration, for the manifest.
        out: receives ``model/``, ``log.parquet``, ``timing.parquet``, ``tokens.parquet``, ``manifest.json``.
    """
    started = time.perf_counter()
    reuse_freed_memory()
    torch.set_num_threads(training.threads)
    transformers.set_seed(derive_seed(seed, "training"))
    partial = out.with_name(out.name + ".partial")
    with GradingPool(workers=1, **grading) as pool:
        trainer, log = build_trainer(base, problems, training, method, seed, pool, partial)
        log.start()
        trainer.train()
    trainer.save_model(str(partial / "model"))
    records.write_frame(log.steps(), partial / "log.parquet", records.LOG)
    records.write_frame(log.timing(), partial / "timing.parquet", records.TIMING)
    records.write_frame(log.tokens(), partial / "tokens.parquet", records.TOKENS)
    facts = {
        "stage": "train",
        "trl": trl_settings(trainer),
        "base_sha256": hash_file(base / "model.safetensors"),
        "model_sha256": hash_file(partial / "model" / "model.safetensors"),
        **cost(started, int(log.steps()["tokens"].sum())),
    }
    write_json(partial / "manifest.json", manifest(resolved) | facts)
    partial.replace(out)


def build_trainer(
    base: Path,
    problems: pd.DataFrame,
    training: Training,
    method: Method,
    seed: int,
    pool: GradingPool,
    scratch: Path,
) -> tuple[SelectiveGRPOTrainer, TrainingLog]:
    """The trainer of a cell, ready to train, and the log that it fills."""
    log = TrainingLog(training.group_size, training.token_sample_every, training.token_sample_groups)
    trainer = SelectiveGRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(base, dtype="float32"),
        processing_class=AutoTokenizer.from_pretrained(base),
        reward_funcs=[verifier_reward(pool)],
        args=grpo_config(training, seed, scratch),
        train_dataset=Dataset.from_pandas(problems[["prompt", "answer", "answer_type"]], preserve_index=False),
        method=method,
        seed=seed,
        training_log=log,
    )
    return trainer, log


def trl_settings(trainer: SelectiveGRPOTrainer) -> dict[str, Any]:
    """Every resolved value of TRL's configuration but the paths: its defaults change between releases."""
    values = trainer.args.to_dict()
    return {k: v for k, v in values.items() if k not in ("output_dir", "logging_dir", "run_name")}
