"""The use of TRL's configuration by a trainer that selects tokens, with TRL's entropy bonus (huggingface/trl #6140).

TRL's own loss does not run in that trainer. The bonus's arguments, and the state that TRL's checkpoints hold, have the
meaning that they have in TRL.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import torch
from pydantic import ValidationError
from torch import Tensor
from trl import GRPOConfig

from ict_core.config.methods import Clip, Correction, EntropyBonus
from ict_core.errors import UserError
from ict_core.training.ranks import gathered_sums

S = TypeVar("S", Clip, Correction)


def check_arguments(args: GRPOConfig, keeps_every_token: bool, balances_experts: bool) -> bool:
    """Check TRL's arguments; returns whether they ask for an entropy bonus.

    A UserError names the arguments for which a selection of tokens is not defined, and the values to set.
    """
    required: dict[str, Any] = {
        "loss_type": "grpo",
        "top_entropy_quantile": 1.0,
        "importance_sampling_level": "token",
        "off_policy_mask_threshold": None,
        "use_liger_kernel": False,
        "delta": None,
        "steps_per_generation": args.gradient_accumulation_steps,
    }
    if args.beta:
        required["use_bias_correction_kl"] = False
    faults = [
        f"GRPOConfig: {name}={getattr(args, name)!r} is not allowed with a selection of tokens; set {name}={value!r}"
        for name, value in required.items()
        if getattr(args, name) != value
    ]
    bonus = bool(args.entropy_coef) or args.use_adaptive_entropy
    if bonus and not keeps_every_token:
        values = f"entropy_coef={args.entropy_coef!r}, use_adaptive_entropy={args.use_adaptive_entropy!r}"
        faults.append(f"GRPOConfig: {values}; allowed: with selection='grpo' alone, which keeps every token")
    if balances_experts:
        text = "the load-balancing loss of experts is not computed with a selection of tokens"
        faults.append(f"GRPOConfig: {text}; set router_aux_loss_coef=0.0")
    if faults:
        raise UserError("\n".join(faults))
    return bonus


def correction_of(args: GRPOConfig) -> Correction | None:
    """The correction for the mismatch between vLLM's and the trainer's probabilities; None where there is none."""
    if not (args.use_vllm and args.vllm_importance_sampling_correction):
        return None
    return _section(
        Correction, args, {key: f"vllm_importance_sampling_{key}" for key in ("mode", "clip_min", "clip_max")}
    )


def clip_of(args: GRPOConfig) -> Clip:
    """The recipe's clipped ratio."""
    high = "epsilon" if args.epsilon_high is None else "epsilon_high"
    return _section(Clip, args, {"low": "epsilon", "high": high}, kind="clip")


def _section(schema: type[S], args: GRPOConfig, names: Mapping[str, str], **stated: str) -> S:
    """A section of a recipe from the arguments that `names` gives for its keys; a UserError names a wrong argument."""
    values = {key: getattr(args, name) for key, name in names.items()}
    try:
        return schema.model_validate(stated | {key: value for key, value in values.items() if value is not None})
    except ValidationError as error:
        ((key,), text) = error.errors()[0]["loc"], error.errors()[0]["msg"]
        raise UserError(f"GRPOConfig: {names[str(key)]}: {values[str(key)]} ({text})") from None


def bonus_arguments(bonus: EntropyBonus) -> dict[str, Any]:
    """TRL's arguments for the bonus."""
    fixed = {"entropy_coef": bonus.coefficient}
    if bonus.target is None:
        return fixed
    return {**fixed, "entropy_target": bonus.target, "entropy_coef_delta": bonus.delta, "use_adaptive_entropy": True}


def bonus_coefficient(trainer: Any) -> float:
    """The coefficient of the mean entropy in a step's objective; if adaptive, 0 after a step with high entropy."""
    idle = trainer.use_adaptive_entropy and trainer._last_world_entropy > trainer.args.entropy_target
    return 0.0 if idle else float(trainer.entropy_coef)


def follow_entropy(trainer: Any, entropies: Sequence[Tensor]) -> None:
    """Update an adaptive coefficient after a step, from the mean entropy, nats, of all ranks' response tokens."""
    args = trainer.args
    if trainer.use_adaptive_entropy:
        total, count = gathered_sums(trainer.accelerator, [torch.cat(list(entropies))])[0].tolist()
        trainer._last_world_entropy = mean = total / max(count, 1.0)  # as TRL has it for a step without tokens
        change = args.entropy_coef_delta if mean <= args.entropy_target else -args.entropy_coef_delta
        coefficient = trainer.entropy_coef + change
        trainer.entropy_coef = min(max(coefficient, args.entropy_coef_min), args.entropy_coef_max)
