"""`configs/methods/<variant>.yaml`: a token selector with its parameters, and what else a variant changes.

A file of methods may use every section here that states its `selector`; there is no other list of the sections.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Union, get_args

from pydantic import Field

from ict_core.config.methods import EntropyBonus, Method
from ict_core.config.mistakes import Fault, refused
from ict_core.config.section import Steps, Weight, is_absent
from ict_core.store.token_scores import score_name


class Percent(Method):
    """A selector that keeps a share of the tokens."""

    percent: Decimal = Field(
        gt=0, le=100, decimal_places=30, description="a number > 0 and <= 100, with at most 30 digits after the point"
    )

    @property
    def fraction(self) -> Fraction:
        """`percent` as an exact fraction: 7 % of 100 tokens is 7 tokens, which a float would round up to 8."""
        return Fraction(self.percent) / 100

    def parameters(self) -> dict[str, Any]:
        stated = super().parameters()
        return {"fraction": self.fraction, **{key: value for key, value in stated.items() if key != "percent"}}

    @classmethod
    def percent_kept(cls, stated: Mapping[str, Any]) -> float | None:
        percent = float(stated["percent"])
        return 100 - percent if stated.get("keep") == "rest" else percent


def selector_sections() -> dict[str, type[Method]]:
    """The sections of this module that state a selector, by its name."""
    sections = [kind for kind in globals().values() if isinstance(kind, type) and issubclass(kind, Method)]
    stated = {kind: get_args(kind.model_fields["selector"].annotation) for kind in sections}  # () if any text
    return {names[0]: kind for kind, names in stated.items() if names}


def section_of(selector: str) -> type[Method]:
    """The section of a selector; that of all methods for one that has none here, as a rule of a stored study may."""
    return selector_sections().get(selector, Method)


def method_schema() -> Any:
    """The type of a file of `configs/methods`: any of the sections here, distinguished by `selector`."""
    return Annotated[Union[tuple(selector_sections().values())], Field(discriminator="selector")]  # noqa: UP007


class Grpo(Method):
    """Every response token."""

    selector: Literal["grpo"]
    keeps_every_token: ClassVar[bool] = True
    entropy_bonus: EntropyBonus | None = Field(default=None, exclude_if=is_absent)  # type: ignore[misc]  # absent: none

    def parameters(self) -> dict[str, Any]:
        return {}  # the bonus is not part of the rule


class HighEntropy(Percent):
    """The `percent` of the batch's response tokens that have the highest entropy."""

    selector: Literal["high-entropy"]
    ranks_by: ClassVar[str] = "h1"


class Stapo(Method):
    """All but spurious tokens: positive advantage, probability below tau_p, entropy below its tau_h quantile."""

    selector: Literal["stapo"]
    tau_p: float = Field(gt=0, lt=1)
    tau_h: float = Field(gt=0, lt=1)


class TopScore(Percent):
    """The `percent` of the tokens that score highest, or with `keep: rest` all the others.

    ICT has the score js, the reference position and the scope sequence; its ablations change one of these. In the scope
    padded a sequence's padding takes part, with the score 0. The threshold ties keeps all tokens at or above the lowest
    score of the `percent`; percentile keeps those at or above the `percent`-th percentile of the scores.
    """

    selector: Literal["top-score"]
    score: Literal["js", "kl", "tv", "wasserstein", "h1", "h2", "surprise", "random"]
    reference: Literal[  # the distribution from which a divergence is measured
        "position", "position-zeros", "position-uniform", "leave-one-out", "sequence", "group"
    ] = "position"  # fmt: skip
    scope: Literal["sequence", "padded", "group", "batch"] = "sequence"  # the tokens that are ranked together
    threshold: Literal["ties", "percentile"] | None = Field(  # ties: equal scores too; percentile: formula as written
        default=None, exclude_if=is_absent
    )
    keep: Literal["top", "rest"] = "top"
    warmup_steps: Steps | None = None  # type: ignore[misc]  # absent: the study's

    def faults(self) -> Iterator[Fault]:
        if self.reference != "position" and self.score != "js":
            yield refused("reference", self.reference, f"position, as the score is {self.score}")
        if self.threshold and self.scope == "padded":
            yield refused("threshold", self.threshold, "nothing, as the scope is padded")

    @property
    def at_random(self) -> bool:
        return self.score == "random" or super().at_random

    def parameters(self) -> dict[str, Any]:
        score = score_name(self.score, self.reference)
        stated = {"score": score, "scope": self.scope, "fraction": self.fraction, "keep": self.keep}
        return stated if self.threshold is None else {**stated, "threshold": self.threshold}

    @classmethod
    def percent_kept(cls, stated: Mapping[str, Any]) -> float | None:
        if stated.get("threshold") == "percentile" or stated.get("scope") == "padded":
            return None  # the share depends on the scores, or on the lengths
        return super().percent_kept(stated)


class Gmts(Percent):
    """The `percent` of the tokens with the largest H1 |A|, ranked as in the paper or as in its authors' code."""

    selector: Literal["gmts"]
    form: Literal["paper", "code"]


class Sign(Method):
    """Every token, with one weight in right answers and another in wrong answers."""

    selector: Literal["sign"]
    positive: float = Field(ge=0, le=1000)
    negative: float = Field(ge=0, le=1000)

    def faults(self) -> Iterator[Fault]:
        if self.positive == self.negative == 0:
            yield refused("negative", self.negative, "above 0, as positive is 0")


class ClipCov(Method):
    """All but a small share of the tokens, which is drawn from those with a covariance of ln p and A in an interval."""

    selector: Literal["clip-cov"]
    share: float = Field(gt=0, lt=1)  # of all response tokens
    low: float = Field(ge=-1e6, le=1e6)
    high: float = Field(ge=-1e6, le=1e6)

    def faults(self) -> Iterator[Fault]:
        if self.high <= self.low:
            yield refused("high", self.high, f"above low = {self.low:g}")


class Rsi(Method):
    """The tokens whose surprisal divided by their entropy is in an interval."""

    selector: Literal["rsi"]
    low: float = Field(ge=0, le=1e6)
    high: float = Field(gt=0, le=1e6)

    def faults(self) -> Iterator[Fault]:
        if self.high <= self.low:
            yield refused("high", self.high, f"above low = {self.low:g}")


class Mastered(Method):
    """All but the tokens of right answers that the model is sure of, while its entropy is low."""

    selector: Literal["mastered"]
    tau: float = Field(gt=0, lt=1)
    target_entropy: Weight | None = None  # nats; absent: at any entropy


class Conflict(Method):
    """Every token, but where right and wrong answers of a group begin or end alike: `positive` if right, 0 if wrong."""

    selector: Literal["conflict"]
    positive: Weight  # weight of a conflict token of a right answer


class HorvitzThompson(Method):
    """Tokens drawn at random, each weighted by one over its probability of being drawn."""

    selector: Literal["horvitz-thompson"]
    probability: float = Field(gt=0, le=1)

    @property
    def at_random(self) -> bool:
        return True


class Quadrant(Method):
    """The tokens with one sign of the advantage and with high or low entropy."""

    selector: Literal["quadrant"]
    sign: Literal["positive", "negative"]
    entropy: Literal["high", "low"]
    quantile: float = Field(gt=0, lt=1)  # of H1 over the batch; at or above it the entropy is high


class AdvantageReweighting(Method):
    """Every token, with a weight that grows with its probability."""

    selector: Literal["advantage-reweighting"]
    alpha: float = Field(gt=0, le=1)


class Lopti(Method):
    """Improbable tokens in the first update of a rollout batch, the others in the second."""

    selector: Literal["lopti"]
    eta: float = Field(gt=0, lt=1)
    two_updates: ClassVar[bool] = True


class OracleDecisions(Method):
    """The tokens that decide whether a response is right, by the true steps of generated problems."""

    selector: Literal["oracle-decisions"]
    known_steps: ClassVar[bool] = True


class Stare(Percent):
    """Every token; the most surprising `percent` of right and wrong answers are weighted `positive` and `negative`."""

    selector: Literal["stare"]
    positive: Weight
    negative: Weight
    target_entropy: Weight | None = None  # nats; absent: at any entropy

    @classmethod
    def percent_kept(cls, stated: Mapping[str, Any]) -> float | None:
        return None  # it keeps every token; `percent` of them have another weight


class EntropyAdvantage(Method):
    """Every token; its advantage is raised by a bounded share of its entropy."""

    selector: Literal["entropy-advantage"]
    alpha: Weight
    kappa: float = Field(ge=1, le=1000)


class Steer(Method):
    """Every token, with a lower weight the more its update would change the entropy."""

    selector: Literal["steer"]
    form: Literal["exponential", "linear"]
    lowest: float = Field(gt=0, lt=1)
    highest: float = Field(ge=1, le=1000)  # only in the linear form; 1 in the other

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        if self.form == "exponential" and self.highest != 1:
            yield refused("highest", self.highest, "1 with the form exponential, which has no other highest weight")


class CovarianceWeight(Method):
    """Every token, with a lower weight the further its covariance of ln p and A is from zero."""

    selector: Literal["covariance-weight"]
