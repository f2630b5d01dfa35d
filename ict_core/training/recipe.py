"""The one GRPO recipe that all methods share, as TRL's configuration."""

from pathlib import Path
from typing import Any

import torch
from trl import GRPOConfig

from ict_core.config.training import Rollouts, Training
from ict_core.seeding import derive_seed
from ict_core.training.watching import Tracking, tracked


def grpo_config(
    training: Training,
    seed: int,
    scratch: Path,
    *,
    processes: int = 1,
    gradient_checkpointing: bool = False,
    max_prompt_tokens: int = 0,
    tracking: Tracking | None = None,
) -> GRPOConfig:
    """TRL's configuration of a run; no method appears in it.

    Group-normalised advantages (ddof 1, eps 1e-4), no advantage or length re-weighting, one optimiser step a rollout
    batch, sampling from the full distribution (top-p 1, no top-k).

    Args:
        seed: the cell's seed; the order of the prompts is derived from it.
        scratch: a folder for checkpoints and whatever else TRL writes.
        processes: ranks; each takes an equal part of the rollouts.
        gradient_checkpointing: whether activations are computed again in the backward pass.
        max_prompt_tokens: of the longest prompt; needed where vLLM makes the rollouts.
        tracking: where the run is reported to; None: nowhere.
    """
    return GRPOConfig(
        output_dir=str(scratch),
        seed=derive_seed(seed, "data order"),
        max_steps=training.steps,
        per_device_train_batch_size=training.micro_batch_sequences,
        gradient_accumulation_steps=training.accumulation_steps(processes),
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
        bf16=training.precision == "bfloat16",
        use_cpu=not torch.cuda.is_available(),
        gradient_checkpointing=gradient_checkpointing,
        logging_steps=1,
        save_strategy="no" if training.checkpoint_every is None else "steps",
        save_steps=training.checkpoint_every or 1,
        save_total_limit=2,  # the second for when the first turns out damaged
        **tracked(tracking),
        disable_tqdm=True,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
        **({} if training.rollouts is None else _vllm(training.rollouts, max_prompt_tokens + training.max_new_tokens)),
    )


def _vllm(rollouts: Rollouts, max_length: int) -> dict[str, Any]:
    """What TRL is told of vLLM."""
    correction = rollouts.correction
    place: dict[str, Any] = {"vllm_server_base_url": rollouts.server}
    if rollouts.engine == "vllm-colocate":
        place = {
            "vllm_gpu_memory_utilization": rollouts.memory_share,
            "vllm_enable_sleep_mode": rollouts.sleep,
            "vllm_max_model_length": max_length,
        }
    return {
        "use_vllm": True,
        "vllm_mode": rollouts.engine.removeprefix("vllm-"),
        "vllm_importance_sampling_correction": True,
        "vllm_importance_sampling_mode": correction.mode,
        "vllm_importance_sampling_clip_min": correction.clip_min,
        "vllm_importance_sampling_clip_max": correction.clip_max,
        **place,
    }
