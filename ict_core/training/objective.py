"""The objective that all methods share: J = mean over sequences of sum_t w Psi / N (method specification, 2).

A mask M is a weight w of 0 or 1. As w >= 0, w Psi is Psi of the advantage w A.
"""

import torch
from torch import Tensor

from ict_core.config.methods import Correction, Normaliser, Surrogate
from ict_core.errors import UserError

_LARGEST_RATIO = 20.0  # DPPO's


def normaliser(kind: Normaliser, kept: Tensor, mask: Tensor) -> Tensor:
    """N_i, the denominator of each sequence's sum, (B,), from the selection mask and the response mask, (B, T).

    ``kept``: the sequence's kept tokens (ICT, STAPO, controls); ``response``: T_i, all its response tokens (GRPO,
    20-Entropy); ``batch_tokens``: the batch's mean response length, which makes J a mean over all tokens of the batch
    (20-Entropy's own paper); ``batch_kept``: the batch's mean number of kept tokens, a mean over all kept ones (GMTS).
    """
    if kind == "kept":
        counts = kept.sum(-1).float()
    elif kind == "response":
        counts = mask.sum(-1).float()
    else:
        counted = mask if kind == "batch_tokens" else kept
        return counted.sum().float().clamp(min=1.0).div(len(mask)).expand(len(mask))
    return counts.clamp(min=1.0)  # a sequence without kept tokens adds 0


def reward_advantages(rewards: Tensor) -> Tensor:
    """2 R - 1, (B,) -> (B,): 1 for a right answer and -1 for a wrong one, whatever its group (arXiv:2506.01347).

    It is 0 where an answer has no reward (NaN). A UserError is raised if a reward is not between 0 and 1.
    """
    invalid = rewards[(rewards < 0) | (rewards > 1)]
    if len(invalid):
        raise UserError(f"advantage: reward: a reward of {invalid[0].item():g}; allowed: from 0 to 1")
    return (2 * rewards - 1).nan_to_num(0.0)


def surrogate(
    kind: Surrogate, logps: Tensor, old: Tensor, advantages: Tensor, mask: Tensor, bound: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Each token's unweighted part of the objective, (B, T), and where the surrogate binds, (B, T) bool.

    It is PPO's min(rho A, clip(rho, 1 - low, 1 + high) A), or a published alternative. All have the same gradient,
    A grad ln p, where the policy is the one that sampled; they differ from the second update of a rollout batch on.
    ln pi_theta and ln pi_old of the sampled tokens are (B, T), A is (B, 1); ``mask`` marks the response tokens.
    ``bound``, (B, T), marks the tokens that KL-Cov penalises, if they were chosen over more rows than these.
    """
    log_ratio = logps - old
    ratio = log_ratio.exp()
    if kind.kind == "clip":
        clipped = ratio.clamp(1 - kind.low, 1 + kind.high)
        binds = ((ratio < 1 - kind.low) & (advantages < 0)) | ((ratio > 1 + kind.high) & (advantages > 0))
        return torch.min(ratio * advantages, clipped * advantages), binds
    if kind.kind == "cispo":
        return ratio.detach().clamp(max=1 + kind.high) * advantages * logps, (ratio > 1 + kind.high) & mask
    if kind.kind == "dppo-tv":
        change = (logps.exp() - old.exp()).detach()
        kept = torch.where(advantages > 0, change <= kind.high, change >= -kind.low)
        return ratio.detach().clamp(max=_LARGEST_RATIO) * advantages * logps * kept, ~kept & mask
    if bound is None:
        bound = highest_covariance(logps.detach(), advantages, mask, kind.share)
    return ratio * advantages - kind.coefficient * log_ratio.abs() * bound, bound


def highest_covariance(logps: Tensor, advantages: Tensor, mask: Tensor, share: float) -> Tensor:
    """The max(1, floor(share N)) of the N tokens with the largest (A - mean A) (ln p - mean ln p), (B, T) bool."""
    values, spread = logps.double(), advantages.double().expand_as(logps)
    cov = ((spread - spread[mask].mean()) * (values - values[mask].mean())).masked_fill(~mask, -torch.inf)
    number = max(1, int(share * int(mask.sum())))
    chosen = torch.zeros(mask.numel(), dtype=torch.bool, device=mask.device)
    chosen[cov.flatten().topk(number).indices] = True
    return chosen.view_as(mask) & mask


def k3(logps: Tensor, reference_logps: Tensor) -> Tensor:
    """Schulman's estimator of KL(pi_theta || pi_ref), exp(d) - d - 1 with d = ln pi_ref - ln pi_theta; (B, T)."""
    return (reference_logps - logps).exp() - (reference_logps - logps) - 1  # in TRL's order, or bits change


def importance_ratio(
    old_logps: Tensor, sampler_logps: Tensor, mask: Tensor, correction: Correction
) -> tuple[Tensor, Tensor]:
    """exp(ln pi_old - ln pi_sampler) of the sampled tokens, clamped to its bounds or 0 beyond them, as in TRL.

    Also whether it lay beyond them. All are (B, T), but the results are (B, 1) where the ratio of the whole sequence is
    used. A token that vLLM could not score has the log-prob NaN and a ratio of 1.
    """
    difference = ((old_logps - sampler_logps) * mask).nan_to_num(nan=0.0)
    if correction.mode in ("sequence_truncate", "sequence_mask"):
        difference = difference.sum(-1, keepdim=True)
    ratio = difference.exp()
    bounded = ratio.clamp(correction.clip_min, correction.clip_max)
    beyond = ratio != bounded
    if correction.mode in ("token_truncate", "sequence_truncate"):
        return bounded, beyond
    return ratio.masked_fill(beyond, 0.0), beyond


def selected_loss(per_token: Tensor, weights: Tensor, counts: Tensor) -> Tensor:
    """mean over sequences of sum_t w_t x_t / N_i; ``per_token`` and ``weights`` (B, T), ``counts`` (B,) -> scalar."""
    return ((per_token * weights).sum(-1) / counts).mean()
