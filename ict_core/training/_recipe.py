"""The one GRPO recipe that all methods share, as TRL's configuration."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import torch
from trl import GRPOConfig

from ict_core.config import Rollouts, Training
from ict_core.seeding import derive_seed


class Tracking(NamedTuple):
    """Where a run is reported to."""

    trackers: tuple[str, ...]  # TRL's `report_to`
    folder: Path  # of the files that they write
    project: str  # the study
    run: str  # the cell


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
        seed: the cell's; the order of the prompts is derived from it.
        scratch: a folder for checkpoints and whatever else TRL writes.
        processes: ranks; each takes an equal part of the rollouts.
        max_prompt_tokens: of the longest prompt; needed where vLLM makes the rollouts.
    """
    return GRPOConfig(
        output_dir=str(scratch),
        seed=derive_seed(seed, "data order"),
        use_cpu=not torch.cuda.is_available(),
        bf16=training.precision == "bfloat16",
        gradient_checkpointing=gradient_checkpointing,
        logging_steps=1,
        save_strategy="no" if training.checkpoint_every is None else "steps",
        save_steps=training.checkpoint_every or 1,
        save_total_limit=2,  # the second for when the first turns out damaged
        disable_tqdm=True,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
        **_tracked(tracking),
        **_objective(training, processes),
        **_vllm(training.rollouts, max_prompt_tokens + training.max_new_tokens),
    )


def _objective(training: Training, processes: int) -> dict[str, Any]:
    """What is sampled, and how it is learnt from."""
    return {
        "max_steps": training.steps,
        "per_device_train_batch_size": training.micro_batch_sequences,
        "gradient_accumulation_steps": training.accumulation_steps(processes),
        "num_generations": training.group_size,
        "max_completion_length": training.max_new_tokens,
        "temperature": training.temperature,
        "top_p": 1.0,
        "top_k": 0,
        "loss_type": "grpo",
        "scale_rewards": "group",
        "num_iterations": 1,
        "beta": training.kl_coef,
        "use_bias_correction_kl": False,  # k3 as it stands in the objective
        "epsilon": training.clip_low,
        "epsilon_high": training.clip_high,
        "mask_truncated_completions": False,
        "learning_rate": training.learning_rate,
        "lr_scheduler_type": "constant_with_warmup",
        "warmup_steps": training.lr_warmup_steps,
        "weight_decay": training.weight_decay,
        "max_grad_norm": training.grad_clip,
        "adam_beta1": training.adam_betas[0],
        "adam_beta2": training.adam_betas[1],
    }


def _tracked(tracking: Tracking | None) -> dict[str, Any]:
    """What TRL is told of the trackers; what they themselves read is put into the environment.

    Where to log in is none of this: wandb and trackio have variables and files of their own for it.
    """
    if tracking is None:
        return {"report_to": "none"}
    tracking.folder.mkdir(parents=True, exist_ok=True)
    folder = str(tracking.folder.absolute())
    os.environ |= dict.fromkeys(("TENSORBOARD_LOGGING_DIR", "WANDB_DIR", "TRACKIO_DIR"), folder)
    os.environ.setdefault("WANDB_PROJECT", tracking.project)
    return {"report_to": list(tracking.trackers), "run_name": tracking.run, "project": tracking.project}


def _vllm(rollouts: Rollouts | None, max_length: int) -> dict[str, Any]:
    """What TRL is told of vLLM; nothing where transformers makes the rollouts."""
    if rollouts is None:
        return {}
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
        "vllm_importance_sampling_mode": rollouts.correction.mode,
        "vllm_importance_sampling_clip_min": rollouts.correction.clip_min,
        "vllm_importance_sampling_clip_max": rollouts.correction.clip_max,
        **place,
    }
