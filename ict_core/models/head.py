"""The LM head of a causal model of any family."""

from typing import Any

from torch.distributed.tensor import DTensor

from ict_core.errors import UserError
from ict_core.tokens.streaming import Head

_MULTIPLIERS = ("logit_scale", "output_multiplier", "lm_head_multiplier")  # as TRL's fused head reads them
_MULTIPLIES = ("hyperclovax",)  # families whose `logits_scaling` multiplies; in others it divides


def lm_head(model: Any) -> Head:
    """A causal model's LM head, as its configuration says; the weight, (V, D), is gathered where it is sharded.

    Raises:
        UserError: the head has a bias.
    """
    config, output = model.config.get_text_config(), model.get_output_embeddings()
    if getattr(output, "bias", None) is not None:
        raise UserError(f"{config.model_type}: the LM head has a bias; allowed: models whose head has none")
    scale = next((s for s in (getattr(config, name, None) for name in _MULTIPLIERS) if s is not None), None)
    if scale is None:
        scaling = getattr(config, "logits_scaling", None)
        scale = 1.0 if scaling is None else scaling if config.model_type in _MULTIPLIES else 1 / scaling
    weight = output.weight.full_tensor() if isinstance(output.weight, DTensor) else output.weight
    return Head(weight, float(scale), getattr(config, "final_logit_softcapping", None))
