"""What a token adds to the objective before its weight: the clipped ratio of PPO, and what others put in its place.

All have the same gradient, A grad ln p, where the policy is the one that sampled; they differ from the second update
of a rollout batch on.
"""

import torch
from torch import Tensor

from ict_core.config import Surrogate
from ict_core.training._objective import psi

_LARGEST_RATIO = 20.0  # DPPO's


def surrogate(kind: Surrogate, logps: Tensor, old: Tensor, advantages: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Each token's part of the objective, (B, T), and where the rule binds, (B, T) bool.

    ln pi_theta and ln pi_old of the sampled tokens are (B, T), A is (B, 1); ``mask`` are the response tokens.
    """
    log_ratio = logps - old
    if kind.kind == "clip":
        return psi(log_ratio, advantages, kind.low, kind.high)
    if kind.kind == "cispo":
        ratio = log_ratio.detach().exp()
        return ratio.clamp(max=1 + kind.high) * advantages * logps, (ratio > 1 + kind.high) & mask
    if kind.kind == "dppo-tv":
        moved = (logps.exp() - old.exp()).detach()
        kept = torch.where(advantages > 0, moved <= kind.high, moved >= -kind.low)
        ratio = log_ratio.detach().exp().clamp(max=_LARGEST_RATIO)
        return ratio * advantages * logps * kept, ~kept & mask
    bound = _highest_covariance(logps.detach(), advantages, mask, kind.share)
    return log_ratio.exp() * advantages - kind.coefficient * log_ratio.abs() * bound, bound


def _highest_covariance(logps: Tensor, advantages: Tensor, mask: Tensor, share: float) -> Tensor:
    """The max(1, floor(share N)) of the N tokens with the largest (A - mean A) (ln p - mean ln p), (B, T) bool."""
    values, spread = logps.double(), advantages.double().expand_as(logps)
    cov = ((spread - spread[mask].mean()) * (values - values[mask].mean())).masked_fill(~mask, -torch.inf)
    number = max(1, int(share * int(mask.sum())))
    chosen = torch.zeros(mask.numel(), dtype=torch.bool, device=mask.device)
    chosen[cov.flatten().topk(number).indices] = True
    return chosen.view_as(mask) & mask
