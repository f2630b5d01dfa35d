"""`configs/methods/<variant>.yaml`: a token selector with its parameters."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ict_core.config.section import Section

Normaliser = Literal["kept", "response", "batch_tokens"]
"""What a sequence's sum over its kept tokens is divided by: the number of its kept tokens, of all its response
tokens, or (one number for the whole batch) of all response tokens of the optimisation batch."""


class _Method(Section):
    normaliser: Normaliser

    def parameters(self) -> dict[str, Any]:
        """The keyword arguments of the selection rule."""
        return {}


class _Percent(_Method):
    percent: Decimal = Field(gt=0, le=100)

    @property
    def fraction(self) -> Fraction:
        """`percent` as an exact fraction: 7 % of 100 tokens is 7 tokens, which a float would round up to 8."""
        return Fraction(self.percent) / 100

    def parameters(self) -> dict[str, Any]:
        """The keyword arguments of the selection rule."""
        return {"fraction": self.fraction}


class _WarmUp(_Percent):
    warmup_steps: int = Field(ge=0)  # optimiser steps that train every token before the mask is on


class Grpo(_Method):
    """Every response token."""

    selector: Literal["grpo"]
    warmup_steps: ClassVar[int] = 0


class HighEntropy(_Percent):
    """The `percent` of the batch's response tokens that have the highest entropy."""

    selector: Literal["high-entropy"]
    warmup_steps: ClassVar[int] = 0


class Stapo(_Method):
    """All but spurious tokens: positive advantage, probability below tau_p, entropy below its tau_h quantile."""

    selector: Literal["stapo"]
    tau_p: float = Field(gt=0, lt=1)
    tau_h: float = Field(gt=0, lt=1)
    warmup_steps: ClassVar[int] = 0

    def parameters(self) -> dict[str, Any]:
        """The keyword arguments of the selection rule."""
        return {"tau_p": self.tau_p, "tau_h": self.tau_h}


class Ict(_WarmUp):
    """The `percent` of each sequence's tokens that stand out most from the group's average distribution."""

    selector: Literal["ict"]


class Random(_WarmUp):
    """The same number of tokens of each sequence as ICT keeps, drawn at random."""

    selector: Literal["random"]


Method = Annotated[Grpo | HighEntropy | Stapo | Ict | Random, Field(discriminator="selector")]
