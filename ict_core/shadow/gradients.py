"""How much of GRPO's gradient with respect to a model's parameters is from the tokens that a rule keeps or weighs."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ict_core.models.head import lm_head
from ict_core.shadow.rollouts import Rollouts, predicting_states

_Gradient = Sequence[Tensor]
_PIECE = 2**16  # numbers of a piece


def gradient_shares(
    model: Any, rollouts: Rollouts, advantages: Tensor, weights: Sequence[Tensor], temperature: float, packed: bool
) -> list[tuple[float, float]]:
    """For each rule's weights, (B, T), bool for a mask: the norm of its gradient over GRPO's, and their cosine.

    The gradient is that of the mean over rollouts of sum over t of w A ln p(t) / T, with T the response's length for
    every rule, so that only the weights differ. One forward pass serves all rules; each distinct one takes a backward
    pass. NaN if no rollout has an advantage; the cosine is NaN too if a rule's gradient is 0.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    states, where = predicting_states(model, rollouts, packed)
    mask, ids, where = (part.cpu() for part in (rollouts.completion_mask, rollouts.completion_ids, where))
    scale = (advantages / mask.sum(-1))[:, None] * mask
    head = lm_head(model)

    def gradient(weight: Tensor) -> _Gradient | None:
        at = ((weight * scale) != 0).nonzero(as_tuple=True)
        if not len(at[0]):
            return None
        logits = head.logits(states[where[at].to(states.device)]).float() / temperature
        tokens = ids[at].to(logits.device)
        log_probs = logits.log_softmax(-1).gather(-1, tokens[:, None]).squeeze(-1)
        loss = (log_probs * (weight * scale)[at].to(logits)).sum()
        return torch.autograd.grad(loss, parameters, retain_graph=True, materialize_grads=True)

    full = gradient(mask)
    if full is None:
        return [(float("nan"), float("nan")) for _ in weights]
    norm = _dot(full, full) ** 0.5
    shares = {_key(mask): (1.0, 1.0)}
    for weight in weights:
        if _key(weight) not in shares:
            part = gradient(weight)
            length = 0.0 if part is None else _dot(part, part) ** 0.5
            cosine = float("nan") if part is None or not length else _dot(part, full) / (length * norm)
            shares[_key(weight)] = length / norm, cosine
    return [shares[_key(weight)] for weight in weights]


def _key(weights: Tensor) -> bytes:
    return weights.float().numpy().tobytes()


def _dot(one: _Gradient, other: _Gradient) -> float:
    """The dot product of two gradients: in float32 over pieces, whose sums are added in float64."""
    total = 0.0
    for a, b in zip(one, other, strict=True):
        pieces = zip(a.flatten().split(_PIECE), b.flatten().split(_PIECE), strict=True)
        total += torch.stack([torch.dot(x, y) for x, y in pieces]).double().sum().item()
    return total
