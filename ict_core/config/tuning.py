"""Equal tuning: every variant tries the same learning rates with the same seeds before it trains."""

import itertools
import math
import operator
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from ict_core.config.mistakes import Fault, refused
from ict_core.config.section import LEAST_RATE, MOST_RATE, Count, Rate, Section, Seed, is_absent
from ict_core.store.files import hash_file
from ict_core.store.manifests import read_manifest

Trial = tuple[float, int]  # a training that tunes: its learning rate and seed
_MARK = "@"  # between a variant and a rate; no file name contains it


class Tuning(Section):
    """The tuning budget, the same for every variant: a number of trainings without an evaluation.

    A variant's rate is the one with the highest mean reward over the last quarter of the steps and over the `seeds`. A
    tie goes to the rate nearest to the recipe's, then to the lower one. A linear schedule falls to 0 over `steps`.
    """

    rates: tuple[Rate, ...] = Field(min_length=1)  # at least two learning rates, the lowest first
    seeds: tuple[Seed, ...] = Field(min_length=1)  # seeds that neither a cell nor a base model of the grid has
    steps: Count | None = Field(default=None, exclude_if=is_absent)  # steps of these trainings; absent: the recipe's
    extend: bool = Field(default=False, exclude_if=operator.not_)  # two more rates beyond an edge with the best rate
    shared_rate: bool = Field(default=False, exclude=True)  # train each cell at the recipe's rate too
    halving: bool = Field(default=False, exclude_if=operator.not_)  # all rates on one seed, the best half on two, ...
    finalists: Count | None = Field(default=None, exclude_if=is_absent)  # rates that halving leaves at least; absent: 1

    def faults(self) -> Iterator[Fault]:
        if len(self.rates) < 2 or list(self.rates) != sorted(set(self.rates)):
            yield refused("rates", list(self.rates), "at least 2 different rates, the lowest first")
        elif self.extend:
            wider = [*self.beyond()[:2], *self.rates, *self.beyond()[2:]]
            if wider != sorted(set(wider)) or wider[0] < LEAST_RATE or wider[-1] > MOST_RATE:
                bounds = f"from {LEAST_RATE:g} to {MOST_RATE:g}"
                allowed = f"rates whose next two on either side, with two digits, are others {bounds}, with extend"
                yield refused("rates", list(self.rates), allowed)
        for index, rate in enumerate(self.rates):
            yield from unnamed(f"rates[{index}]", rate)
        if self.halving and len(self.seeds) < 2:
            yield refused("seeds", list(self.seeds), "at least 2 seeds with halving")
        if self.finalists and not (self.halving and self.finalists <= len(self.rates)):
            yield refused("finalists", self.finalists, f"with halving, at most the {len(self.rates)} rates")

    @property
    def seed_counts(self) -> tuple[int, ...]:
        """The number of seeds on which rates are tried in each round; with halving it doubles from round to round."""
        counts = [1] if self.halving else []
        while counts and 2 * counts[-1] < len(self.seeds):
            counts.append(2 * counts[-1])
        return (*counts, len(self.seeds))

    @property
    def rounds(self) -> int:
        """The number of rounds of trainings after which the rate is chosen."""
        return self.all_seeds_after + (self.extend and self.halving)

    @property
    def all_seeds_after(self) -> int:
        """The number of rounds after which the best rates of the grid have been tried with all seeds."""
        return self.extend + len(self.seed_counts)

    @property
    def first_seeds(self) -> tuple[int, ...]:
        """The seeds of the first round, and of the rates beyond an edge."""
        return self.seeds[: self.seed_counts[0]]

    def half(self, rates: int) -> int:
        """How many of so many rates halving leaves: the better half, rounded up, but no fewer than the finalists."""
        return min(rates, max(math.ceil(rates / 2), self.finalists or 1))

    def beyond(self) -> tuple[float, ...]:
        """Two rates below the grid and two above it, spaced by the grid's mean ratio, with two digits each."""
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
        """How many trainings the later rounds of `variants` variants may ask for, in words; empty if none."""
        extended = 2 if self.extend else 0
        total, rates = extended * len(self.first_seeds), len(self.rates) + extended
        for before, count in itertools.pairwise(self.seed_counts):
            rates = self.half(rates)
            total += rates * (count - before)
        total += extended * len(self.seeds) * self.halving  # if the best rate is at an edge only after all rounds
        why = ["two rates beyond an edge that is the best"] if self.extend else []
        why += ["the better half of the rates on more seeds, again and again"] if self.halving else []
        text = f"at most {total} more trainings of each of {variants} methods to choose its learning rate"
        return f"{text}: {', then '.join(why)}" if total else ""


@dataclass(frozen=True)
class StoredRates:
    """The learning rates that a stored study chose (``results/reference/<study>/rates.json``)."""

    study: str
    sha256: str  # of the file
    content: dict[str, Any]  # as the stage `rates` writes it

    @classmethod
    def read(cls, study: str, file: Path) -> "StoredRates":
        """The rates that a study chose, from its ``rates.json``."""
        return cls(study, hash_file(file), read_manifest(file))

    def choices(self, arms: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
        """The choice for each of these (model, variant) pairs, as the stage `tune` writes it."""
        stored = self.content["arms"]
        return [{"stage": "tune", "model": m, "variant": v, **stored[f"{m}/{v}"]} for m, v in arms]

    def tuned(self, model: str) -> set[str]:
        """The variants of a model that have a rate."""
        arms = (arm.split("/") for arm in self.content["arms"])
        return {variant for name, variant in arms if name == model}

    def stated(self) -> dict[str, str]:
        """What a manifest states about the rates."""
        return {"study": self.study, "sha256": self.sha256}


def tuned_as(variant: str, varied: Mapping[str, Any], tuned: Container[str]) -> str:
    """The variant whose tuning gives a variant its rate: itself, else the nearest tuned variant that it varies.

    ``varied`` has the ``of`` and the ``factor`` of each variant (None where it declares none). ``tuned`` has the tuned
    variants. If none of them is tuned, the variant itself is returned.
    """
    name = variant
    while name not in tuned and name in varied and varied[name].factor is not None:
        name = varied[name].of
    return name if name in tuned else variant


def at_rate(variant: str, rate: float) -> str:
    """The name of a variant at a learning rate, such as ``ict-10@0.0001``."""
    return f"{variant}{_MARK}{rate:g}"


def unnamed(key: str, rate: float) -> Iterator[Fault]:
    """The fault that :func:`at_rate` does not write a learning rate exactly, if it does not."""
    if rate_of(at_rate("", rate))[1] != rate:
        yield refused(key, rate, "at most six digits, as folders are named by it")


def rate_of(variant: str) -> tuple[str, float | None]:
    """A variant's name without the learning rate, and the rate; None if the name has no rate."""
    name, mark, rate = variant.partition(_MARK)
    return name, float(rate) if mark else None
