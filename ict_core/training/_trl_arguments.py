"""What a trainer that selects tokens takes of TRL's configuration."""

from typing import Any

from trl import GRPOConfig

from ict_core.config import Correction, Rollouts
from ict_core.errors import UserError


def check_arguments(args: GRPOConfig) -> None:
    """A UserError names what of TRL's configuration a selection of tokens is not defined for, and what to set."""
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
    if wrong:
        raise UserError("\n".join(wrong))


def correction_of(args: GRPOConfig, rollouts: Rollouts | None) -> Correction | None:
    """How the difference of vLLM's probabilities from the trainer's is corrected; None where nothing is."""
    if rollouts is not None:
        return rollouts.correction
    if not (args.use_vllm and args.vllm_importance_sampling_correction):
        return None
    names = ("mode", "clip_min", "clip_max")
    stated = {name: getattr(args, f"vllm_importance_sampling_{name}") for name in names}
    return Correction.model_validate({name: value for name, value in stated.items() if value is not None})
