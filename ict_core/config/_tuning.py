"""Equal tuning: every variant tries the same learning rates with the same seeds before it trains."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from ict_core.config._section import Section, Seed
from ict_core.config.mistakes import Fault, refused, repeated

Rate = Annotated[float, Field(gt=0)]
_MARK = "@"  # between a variant and a rate; no name of a file has it


class Tuning(Section):
    """The budget of every variant, the same for each: so many trainings, without an evaluation.

    A variant's own rate is that of the highest mean reward over the last quarter of the steps, over the `seeds`; of
    equal ones that nearest to the recipe's, then the lower one.
    """

    rates: tuple[Rate, ...] = Field(min_length=1)  # learning rates, the recipe's among them
    seeds: tuple[Seed, ...] = Field(min_length=1)  # that no cell of the grid has, nor a base model of the grid

    def faults(self) -> Iterator[Fault]:
        yield from repeated("seeds", self.seeds)
        if len(self.rates) < 2 or list(self.rates) != sorted(set(self.rates)):
            yield refused("rates", list(self.rates), "at least 2 different rates, the lowest first")
        for index, rate in enumerate(self.rates):
            if float(f"{rate:g}") != rate:
                yield refused(f"rates[{index}]", rate, "at most six digits, as folders are named by it")


def at_rate(variant: str, rate: float) -> str:
    """The name of a variant at a learning rate, such as ``ict-10@0.0001``."""
    return f"{variant}{_MARK}{rate:g}"


def rate_of(variant: str) -> tuple[str, float | None]:
    """A variant's name without the learning rate, and that rate; None where the name has none."""
    name, mark, rate = variant.partition(_MARK)
    return name, float(rate) if mark else None
