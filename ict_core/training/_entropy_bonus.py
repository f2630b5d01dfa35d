"""TRL's entropy bonus (huggingface/trl #6140) in the loss of a trainer that selects tokens.

TRL's own loss does not run there. Its arguments, and the state that its checkpoints hold, are used as it uses them.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from trl import GRPOConfig

from ict_core.errors import UserError
from ict_core.training._ranks import gathered_sums


def has_bonus(args: GRPOConfig, keeps_every_token: bool) -> bool:
    """Whether TRL's arguments ask for a bonus; a UserError where they do so beside a rule that leaves tokens out."""
    asked = bool(args.entropy_coef) or args.use_adaptive_entropy
    if asked and not keeps_every_token:
        stated = f"entropy_coef={args.entropy_coef!r}, use_adaptive_entropy={args.use_adaptive_entropy!r}"
        raise UserError(f"GRPOConfig: {stated}; allowed: with selection='grpo' alone, which keeps every token")
    return asked


def coefficient(trainer: Any) -> float:
    """Of the mean entropy in a step's objective: of an adaptive one 0 unless the step before had little entropy."""
    idle = trainer.use_adaptive_entropy and trainer._last_world_entropy > trainer.args.entropy_target
    return 0.0 if idle else float(trainer.entropy_coef)


def follow(trainer: Any, entropies: Sequence[Tensor]) -> None:
    """After a step set an adaptive coefficient by the mean of the entropies, nats, of all ranks' response tokens."""
    args = trainer.args
    if trainer.use_adaptive_entropy:
        total, count = gathered_sums(trainer.accelerator, [torch.cat(list(entropies))])[0].tolist()
        trainer._last_world_entropy = total / count
        change = args.entropy_coef_delta if total / count <= args.entropy_target else -args.entropy_coef_delta
        moved = trainer.entropy_coef + change
        trainer.entropy_coef = min(max(moved, args.entropy_coef_min), args.entropy_coef_max)
