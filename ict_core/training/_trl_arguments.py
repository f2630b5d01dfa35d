"""What a trainer that selects tokens takes of TRL's configuration, its entropy bonus (huggingface/trl #6140) included.

TRL's own loss does not run there. The bonus's arguments, and the state that TRL's checkpoints hold, are used as it uses
them.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from trl import GRPOConfig

from ict_core.config.methods import Correction, Rollouts
from ict_core.errors import UserError
from ict_core.training._ranks import gathered_sums


def check_arguments(args: GRPOConfig, keeps_every_token: bool) -> bool:
    """Whether they ask for an entropy bonus.

    A UserError names what a selection of tokens is not defined for, and what to set.
    """
    wanted: dict[str, Any] = {
        "loss_type": "grpo",
        "top_entropy_quantile": 1.0,
        "importance_sampling_level": "token",
        "off_policy_mask_threshold": None,
        "use_liger_kernel": False,
        "delta": None,
        "steps_per_generation": args.gradient_accumulation_steps,
    }
    if args.beta:
        wanted["use_bias_correction_kl"] = False
    wrong = [
        f"GRPOConfig: {name}={getattr(args, name)!r} is not allowed with a selection of tokens; set {name}={value!r}"
        for name, value in wanted.items()
        if getattr(args, name) != value
    ]
    bonus = bool(args.entropy_coef) or args.use_adaptive_entropy
    if bonus and not keeps_every_token:
        stated = f"entropy_coef={args.entropy_coef!r}, use_adaptive_entropy={args.use_adaptive_entropy!r}"
        wrong.append(f"GRPOConfig: {stated}; allowed: with selection='grpo' alone, which keeps every token")
    if wrong:
        raise UserError("\n".join(wrong))
    return bonus


def correction_of(args: GRPOConfig, rollouts: Rollouts | None) -> Correction | None:
    """How the difference of vLLM's probabilities from the trainer's is corrected; None where nothing is."""
    if rollouts is not None:
        return rollouts.correction
    if not (args.use_vllm and args.vllm_importance_sampling_correction):
        return None
    names = ("mode", "clip_min", "clip_max")
    stated = {name: getattr(args, f"vllm_importance_sampling_{name}") for name in names}
    return Correction.model_validate({name: value for name, value in stated.items() if value is not None})


def bonus_coefficient(trainer: Any) -> float:
    """Of the mean entropy in a step's objective: of an adaptive one 0 unless the step before had little entropy."""
    idle = trainer.use_adaptive_entropy and trainer._last_world_entropy > trainer.args.entropy_target
    return 0.0 if idle else float(trainer.entropy_coef)


def follow_entropy(trainer: Any, entropies: Sequence[Tensor]) -> None:
    """After a step set an adaptive coefficient by the mean of the entropies, nats, of all ranks' response tokens."""
    args = trainer.args
    if trainer.use_adaptive_entropy:
        total, count = gathered_sums(trainer.accelerator, [torch.cat(list(entropies))])[0].tolist()
        trainer._last_world_entropy = total / count
        change = args.entropy_coef_delta if total / count <= args.entropy_target else -args.entropy_coef_delta
        moved = trainer.entropy_coef + change
        trainer.entropy_coef = min(max(moved, args.entropy_coef_min), args.entropy_coef_max)
