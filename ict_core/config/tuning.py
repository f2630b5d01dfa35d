"""Equal tuning: every variant tries the same learning rates with the same seeds before it trains."""

import itertools
import math
import operator
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from ict_core.config.mistakes import Fault, refused, repeated
from ict_core.config.section import LEAST_RATE, MOST_RATE, Count, Rate, Section, Seed, is_absent

Trial = tuple[float, int]  # a training that tunes: its learning rate and seed
_MARK = "@"  # between a variant and a rate; no name of a file has it


class Tuning(Section):
    """The budget of every variant, by the same rule for each: so many trainings, without an evaluation.

    A variant's own rate is that of the highest mean reward over the last quarter of the steps, over the `seeds`; of
    equal ones that nearest to the recipe's, then the lower one.
    """

    rates: tuple[Rate, ...] = Field(min_length=1)  # learning rates, the lowest first
    seeds: tuple[Seed, ...] = Field(min_length=1)  # that no cell of the grid has, nor a base model of the grid
    steps: Count | None = Field(default=None, exclude_if=is_absent)  # of each, the recipe's first; absent: all of them
    extend: bool = Field(default=False, exclude_if=operator.not_)  # two rates more beyond an edge that is the best
    shared_rate: bool = Field(default=False, exclude_if=operator.not_)  # every cell once more, at the recipe's rate
    halving: bool = Field(default=False, exclude_if=operator.not_)  # all rates on one seed, the best half on two, ...

    def faults(self) -> Iterator[Fault]:
        yield from repeated("seeds", self.seeds)
        if len(self.rates) < 2 or list(self.rates) != sorted(set(self.rates)):
            yield refused("rates", list(self.rates), "at least 2 different rates, the lowest first")
        for index, rate in enumerate(self.rates):
            yield from unnamed(f"rates[{index}]", rate)
        if self.extend and len(self.rates) > 1 and not LEAST_RATE <= self.beyond()[0] < self.beyond()[-1] <= MOST_RATE:
            allowed = f"rates whose next two on either side lie from {LEAST_RATE:g} to {MOST_RATE:g}, with extend"
            yield refused("rates", list(self.rates), allowed)
        if self.halving and len(self.seeds) < 2:
            yield refused("seeds", list(self.seeds), "at least 2 seeds with halving")

    def dump(self) -> dict[str, Any]:
        """What the choice of a rate depends on, as JSON-able values."""
        return self.model_dump(mode="json", exclude={"shared_rate"})

    @property
    def seed_counts(self) -> tuple[int, ...]:
        """On how many of the seeds rates are tried, one round after the other; with halving twice as many each time."""
        counts = [1] if self.halving else []
        while counts and 2 * counts[-1] < len(self.seeds):
            counts.append(2 * counts[-1])
        return (*counts, len(self.seeds))

    @property
    def rounds(self) -> int:
        """After how many rounds of trainings the rate is chosen."""
        return self.all_seeds_after + (self.extend and self.halving)

    @property
    def all_seeds_after(self) -> int:
        """After how many rounds the best rates of the grid have been tried with all seeds."""
        return self.extend + len(self.seed_counts)

    @property
    def first_seeds(self) -> tuple[int, ...]:
        """The seeds of the first round, and of the rates beyond an edge."""
        return self.seeds[: self.seed_counts[0]]

    def beyond(self) -> tuple[float, ...]:
        """Two rates below the grid and two above it, in the grid's mean ratio, of two digits each."""
        low, high = self.rates[0], self.rates[-1]
        ratio = (high / low) ** (1 / (len(self.rates) - 1))
        return tuple(float(f"{rate:.2g}") for rate in (low / ratio**2, low / ratio, high * ratio, high * ratio**2))

    def first(self) -> list[Trial]:
        """The trainings of the first round."""
        return [(rate, seed) for rate in self.rates for seed in self.first_seeds]

    def later(self) -> list[Trial]:
        """The trainings that a later round may ask for."""
        rates = [*self.rates, *(self.beyond() if self.extend else ())]
        return [(rate, seed) for rate in rates for seed in self.seeds if (rate, seed) not in self.first()]

    def more(self, variants: int) -> str:
        """How many trainings the later rounds of so many variants may ask for, in words; empty if none."""
        extended = 2 if self.extend else 0
        most, rates = extended * len(self.first_seeds), len(self.rates) + extended
        for before, count in itertools.pairwise(self.seed_counts):
            rates = math.ceil(rates / 2)
            most += rates * (count - before)
        most += extended * len(self.seeds) * self.halving  # where the best lies at an edge only then
        why = ["two rates beyond an edge that is the best"] if self.extend else []
        why += ["the better half of the rates on more seeds, again and again"] if self.halving else []
        told = f"at most {most} more trainings of each of {variants} methods to choose its learning rate"
        return f"{told}: {', then '.join(why)}" if most else ""


@dataclass(frozen=True)
class StoredRates:
    """The learning rates that a stored study chose (``results/reference/<study>/rates.json``)."""

    study: str
    sha256: str  # of the file
    content: dict[str, Any]  # as the stage `rates` writes it

    def choices(self, arms: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
        """The choice of each of these (model, variant), as the stage that made it left it."""
        of = self.content["arms"]
        return [{"stage": "tune", "model": m, "variant": v, **of[f"{m}/{v}"]} for m, v in arms]

    def tuned(self, model: str) -> set[str]:
        """The variants of a model that have a rate."""
        arms = (arm.split("/") for arm in self.content["arms"])
        return {variant for name, variant in arms if name == model}

    def stated(self) -> dict[str, str]:
        """What a manifest says of them."""
        return {"study": self.study, "sha256": self.sha256}


def tuned_as(variant: str, varied: Mapping[str, Any], tuned: Container[str]) -> str:
    """The variant whose tuning gives a variant its rate: itself, else the next tuned one of those that it varies.

    ``varied`` has what each variant is ``of``, and by which ``factor`` (None where it declares none), ``tuned`` those
    that were tuned. A variant without any is its own.
    """
    name = variant
    while name not in tuned and name in varied and varied[name].factor is not None:
        name = varied[name].of
    return name if name in tuned else variant


def at_rate(variant: str, rate: float) -> str:
    """The name of a variant at a learning rate, such as ``ict-10@0.0001``."""
    return f"{variant}{_MARK}{rate:g}"


def unnamed(key: str, rate: float) -> Iterator[Fault]:
    """That a learning rate is not the one that :func:`at_rate` writes, if it is not."""
    if rate_of(at_rate("", rate))[1] != rate:
        yield refused(key, rate, "at most six digits, as folders are named by it")


def rate_of(variant: str) -> tuple[str, float | None]:
    """A variant's name without the learning rate, and that rate; None where the name has none."""
    name, mark, rate = variant.partition(_MARK)
    return name, float(rate) if mark else None
