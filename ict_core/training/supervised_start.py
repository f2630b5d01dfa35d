"""Supervised training on worked solutions (TRL's SFTTrainer): makes a base model of a checkpoint that hardly answers.

Where almost no rollout of a group is correct, advantages are 0 and GRPO has nothing to learn from.
"""

import math
import shutil
import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import transformers
from datasets import Dataset
from transformers import PrinterCallback
from trl import SFTConfig, SFTTrainer

from ict_core.config.inputs import Dtype, SupervisedStart
from ict_core.config.methods import Training
from ict_core.models.read import read_model, read_tokenizer
from ict_core.process import numerics
from ict_core.process.startup import reuse_freed_memory
from ict_core.seeding import derive_seed, generator
from ict_core.store.files import appearing, hash_weights
from ict_core.store.layout import MANIFEST
from ict_core.store.manifests import cost, file_hashes, manifest, write_manifest
from ict_core.training.run import ShownProgress, save_weights

_TOGETHER = 4  # sequences in one pass: a batch of 16 at once takes 18 GB with a vocabulary of 49,152
_WARMUP = 10  # the learning rate warms up over one of so many equal parts of the steps
_GENERATION = "generation_config.json"  # has the stop ids


@numerics.products()
def start_from_solutions(
    checkpoint: Path,
    solved: pd.DataFrame,
    rule: SupervisedStart,
    training: Training,
    dtype: Dtype,
    resolved: dict[str, Any],
    out: Path,
) -> list[float]:
    """Train a checkpoint on worked solutions and save it in ``dtype``, with a manifest of its ``resolved`` config.

    ``solved`` is ``records.SOLUTIONS`` with prompts in the model's template; ``rule`` gives the number of rows drawn.
    Precision and threads come from the recipe ``training``. The folder ``out`` appears complete or not at all.
    Returns the loss of every step, nats a token.
    """
    started = time.perf_counter()
    reuse_freed_memory()
    torch.set_num_threads(training.threads)
    transformers.set_seed(derive_seed(rule.seed, "supervised start"))
    tokenizer = read_tokenizer(checkpoint)
    chosen = generator(rule.seed, "supervised start", "problems").choice(len(solved), rule.problems, replace=False)
    texts = solved.iloc[chosen][["prompt", "completion"]]  # TRL adds the token that ends an answer
    with appearing(out) as partial:
        scratch = partial / "scratch"
        arguments = start_config(rule, training, scratch)
        model = read_model(checkpoint, "float32")
        problems = Dataset.from_pandas(texts, preserve_index=False)
        trainer = SFTTrainer(model, arguments, train_dataset=problems, processing_class=tokenizer)
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(ShownProgress("loss"))
        trainer.train()
        save_weights(trainer, dtype, partial)
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copy2(checkpoint / _GENERATION, partial / _GENERATION)  # TRL has aligned the saved one to the tokenizer
        facts = {
            "stage": "supervised_start",
            "fetched_sha256": hash_weights(checkpoint),
            "model_sha256": hash_weights(partial),
            "files": file_hashes(partial),
        }
        tokens = trainer.state.num_input_tokens_seen
        write_manifest(partial / MANIFEST, manifest(resolved) | facts | cost(started, int(tokens)))
    return [logs["loss"] for logs in trainer.state.log_history if "loss" in logs]


def start_config(rule: SupervisedStart, training: Training, scratch: Path) -> SFTConfig:
    """TRL's configuration of a supervised start: one pass over the problems, loss on the solutions alone."""
    steps, micro_batch = rule.problems // rule.batch_sequences, math.gcd(rule.batch_sequences, _TOGETHER)
    return SFTConfig(
        output_dir=str(scratch),
        seed=derive_seed(rule.seed, "supervised start", "order"),
        use_cpu=not torch.cuda.is_available(),
        bf16=training.precision == "bfloat16",
        gradient_checkpointing=False,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
        include_num_input_tokens_seen="non_padding",
        max_steps=steps,
        per_device_train_batch_size=micro_batch,
        gradient_accumulation_steps=rule.batch_sequences // micro_batch,
        train_sampling_strategy="group_by_length",  # so that little is padded
        max_length=None,
        completion_only_loss=True,
        learning_rate=rule.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=-(-steps // _WARMUP),
        weight_decay=0.0,
        max_grad_norm=1.0,
    )
