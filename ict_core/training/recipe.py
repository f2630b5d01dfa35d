"""The one GRPO recipe that all methods share, as TRL's configuration."""

from pathlib import Path

import torch
from trl import GRPOConfig

from ict_core.config.training import Training
from ict_core.errors import UserError
from ict_core.seeding import derive_seed


def grpo_config(training: Training, seed: int, scratch: Path) -> GRPOConfig:
    """TRL's configuration of a run; no method appears in it.

    Group-normalised advantages (ddof 1, eps 1e-4), no advantage or length re-weighting, one optimiser step a rollout
    batch, sampling from the full distribution (top-p 1, no top-k).

    Args:
        seed: the cell's seed; the order of the prompts is derived from it.
        scratch: a folder for whatever TRL writes.
    """
    bf16 = training.precision == "bfloat16"
    if bf16 and not torch.cuda.is_available():
        raise UserError("training.precision: bfloat16 needs a GPU and none is visible; use float32")
    return GRPOConfig(
        output_dir=str(scratch),
        seed=derive_seed(seed, "data order"),
        max_steps=training.steps,
        per_device_train_batch_size=training.micro_batch_sequences,
        gradient_accumulation_steps=training.accumulation_steps(processes=1),
        num_generations=training.group_size,
        max_completion_length=training.max_new_tokens,
        temperature=training.temperature,
        top_p=1.0,
        top_k=0,
        loss_type="grpo",
        scale_rewards="group",
        num_iterations=1,
        beta=training.kl_coef,
        use_bias_correction_kl=False,  # k3 as it stands in the objective
        epsilon=training.clip_low,
        epsilon_high=training.clip_high,
        mask_truncated_completions=False,
        learning_rate=training.learning_rate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=training.lr_warmup_steps,
        weight_decay=training.weight_decay,
        max_grad_norm=training.grad_clip,
        adam_beta1=training.adam_betas[0],
        adam_beta2=training.adam_betas[1],
        bf16=bf16,
        use_cpu=not torch.cuda.is_available(),
        gradient_checkpointing=False,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
    )
