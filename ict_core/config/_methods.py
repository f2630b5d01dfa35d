"""`configs/methods/<variant>.yaml`: a token selector with its parameters, and what else a variant changes.

Every section here that states its `selector` is one of those that a file may hold; nothing else names it.
"""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Union, get_origin

from pydantic import Field

from ict_core.config._section import Name, Section
from ict_core.config.mistakes import Fault, refused
from ict_core.store import score_name

Normaliser = Literal["kept", "response", "batch_tokens"]
"""What a sequence's sum over its kept tokens is divided by: the number of its kept tokens, of all its response
tokens, or (one number for the whole batch) of all response tokens of the optimisation batch."""

Factor = Literal[
    "group_size", "keep", "normaliser", "percent", "random_reward", "reference", "replica", "scope", "score", "tau_h",
    "warmup_steps",
]  # fmt: skip


class Variation(Section):
    """The one key by which a variant differs from another; that no other does is checked."""

    of: Name
    factor: Factor


class Method(Section):
    """What every variant states, whatever its selector."""

    selector: str  # narrowed to a literal by each section of a selector
    warmup_steps: ClassVar[int | None]  # optimiser steps that train every token before the mask is on
    normaliser: Normaliser
    group_size: Annotated[int, Field(ge=2)] | None = None  # in place of the recipe's, with as many rollouts a step
    random_reward: Annotated[float, Field(gt=0, lt=1)] | None = None  # chance of reward 1, in place of the verifier
    # the same again under another name: 0 with the same random numbers, any other with numbers of its own
    replica: Annotated[int, Field(ge=0)] | None = None
    ablation: Variation | None = None

    def parameters(self) -> dict[str, Any]:
        """The keyword arguments of the selection rule."""
        return {}

    def settings(self) -> dict[str, Any]:
        """All that determines a training, as JSON-able values: not what it is compared with."""
        return self.model_dump(mode="json", exclude={"ablation"})


class Percent(Method):
    """A selector that keeps a share of the tokens."""

    percent: Decimal = Field(gt=0, le=100, description="a number > 0 and <= 100")

    @property
    def fraction(self) -> Fraction:
        """`percent` as an exact fraction: 7 % of 100 tokens is 7 tokens, which a float would round up to 8."""
        return Fraction(self.percent) / 100

    def parameters(self) -> dict[str, Any]:
        return {"fraction": self.fraction}


def method_schema() -> Any:
    """The type of a file of `configs/methods`: any of the sections here, told apart by `selector`."""
    sections = [kind for kind in globals().values() if isinstance(kind, type) and issubclass(kind, Method)]
    stated = [kind for kind in sections if get_origin(kind.model_fields["selector"].annotation) is Literal]
    return Annotated[Union[tuple(stated)], Field(discriminator="selector")]  # noqa: UP007


class Grpo(Method):
    """Every response token."""

    selector: Literal["grpo"]
    warmup_steps: ClassVar[int] = 0


class HighEntropy(Percent):
    """The `percent` of the batch's response tokens that have the highest entropy."""

    selector: Literal["high-entropy"]
    warmup_steps: ClassVar[int] = 0


class Stapo(Method):
    """All but spurious tokens: positive advantage, probability below tau_p, entropy below its tau_h quantile."""

    selector: Literal["stapo"]
    tau_p: float = Field(gt=0, lt=1)
    tau_h: float = Field(gt=0, lt=1)
    warmup_steps: ClassVar[int] = 0

    def parameters(self) -> dict[str, Any]:
        return {"tau_p": self.tau_p, "tau_h": self.tau_h}


class TopScore(Percent):
    """The `percent` of the tokens that score highest, or with `keep: rest` all the others.

    ICT scores by js at the reference position within its sequence; its ablations change one of these.
    """

    selector: Literal["top-score"]
    score: Literal["js", "kl", "tv", "wasserstein", "h1", "h2", "surprise", "random"]
    reference: Literal["position", "leave-one-out", "sequence", "group"] = "position"  # of a divergence
    scope: Literal["sequence", "group", "batch"] = "sequence"  # among whose tokens the `percent` are the highest
    keep: Literal["top", "rest"] = "top"
    warmup_steps: Annotated[int, Field(ge=0)] | None = None  # type: ignore[misc]  # absent: the study's

    def faults(self) -> Iterator[Fault]:
        if self.reference != "position" and self.score != "js":
            yield refused("reference", self.reference, f"position, as the score is {self.score}")

    def parameters(self) -> dict[str, Any]:
        score = score_name(self.score, self.reference)
        return {"score": score, "scope": self.scope, "fraction": self.fraction, "keep": self.keep}
