"""`configs/claims.yaml`: every claim with the test and the decision rule declared for it, the same in every study."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ict_core.config.mistakes import Fault, refused
from ict_core.config.section import Name, Section, load_section
from ict_core.evidence.measures import QUANTITIES
from ict_core.statistics.schemas import BASE, Metric

Points = Annotated[float, Field(gt=0, le=100)]


class DifferenceTest(Section):
    """`ours` minus `against` in a metric, one value per run, paired by seed.

    `direction` is what the claim says of it: higher or lower than 0, or equal to 0 within the study's margin.
    """

    kind: Literal["difference"]
    ours: Name
    against: tuple[Name, ...] = Field(min_length=1)
    combine: Literal["mean", "strongest"] | None = None  # how several baselines are combined; absent for one
    metric: Metric
    minus_metric: Metric | None = None  # the gain in `metric` less the gain in this metric
    benchmarks: tuple[str, ...] | None = None  # the paper's names; absent: the average
    every_model: Literal[True] | None = None  # each model must show it; absent: their mean
    direction: Literal["higher", "lower", "equal"]

    def faults(self) -> Iterator[Fault]:
        if (len(self.against) > 1) != (self.combine is not None):
            yield refused("combine", self.combine, "mean or strongest for several baselines, and for them only")
        if self.every_model and self.direction == "equal":
            yield refused("direction", self.direction, "higher or lower, if every model must show it")
        if BASE in self.against and (self.minus_metric or len(self.against) > 1):  # whose error is shared
            yield refused("against", list(self.against), f"{BASE} alone and in one metric, or other variants")


class Largest(Section):
    """The largest gain of `ours` over a baseline on one benchmark of one model, corrected for the search."""

    kind: Literal["largest"]
    ours: Name
    against: tuple[Name, ...] = Field(min_length=1)
    metric: Metric


class Measure(Section):
    """A quantity of the training log or of the token sample, one value per run: either in a range, or against 0.

    With `minus`, the quantity of that variant's run with the same seed is subtracted.
    """

    kind: Literal["measure"]
    quantity: str
    of: Name
    minus: Name | None = None
    within: tuple[float, float] | None = None
    direction: Literal["higher", "lower"] | None = None

    def faults(self) -> Iterator[Fault]:
        if self.quantity not in QUANTITIES:
            yield refused("quantity", self.quantity, f"one of {', '.join(QUANTITIES)}")
        if (self.within is None) == (self.direction is None):
            yield refused("direction", self.direction, "either a direction or `within`")
        if self.within is not None and self.within[0] >= self.within[1]:
            yield refused("within", list(self.within), "[low, high] with low < high")


ClaimId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,99}$")]
Test = Annotated[DifferenceTest | Largest | Measure, Field(discriminator="kind")]


class Claim(Section):
    """One entry of the ledger."""

    id: ClaimId
    family: Name  # of claims that answer one question and are corrected together
    after: ClaimId | None = None  # the claim before it in its family, which is then tested in this order; else by Holm
    bound_with: ClaimId | None = None  # a claim tied to this one by a bound: with small entropies both cannot hold
    statement: str = Field(min_length=1)  # what is claimed, in one sentence
    source: str = Field(min_length=1)  # where it is claimed or asked
    paper: str | None = None  # the paper's own figure, in words; absent where it gives none
    paper_points: Points | None = None  # the claimed effect, for the number of runs that would find it
    test: Test | None = None  # absent if no study can test it yet
    needs: str | None = None  # what is missing to test it, if there is no test

    def faults(self) -> Iterator[Fault]:
        if (self.test is None) == (self.needs is None):
            yield refused("needs", self.needs, "either a test, or `needs`: what is missing to test it")

    @property
    def guarded(self) -> bool:
        """Whether the verdict depends on the study's gates: the claim compares trainings, or is about what one does.

        A claim about the tokens that a rule keeps does not need anything to be learned.
        """
        return not isinstance(self.test, Measure) or QUANTITIES[self.test.quantity].frame == "log"


class ClaimsFile(Section):
    """The whole ledger."""

    claims: tuple[Claim, ...] = Field(min_length=1)

    def faults(self) -> Iterator[Fault]:
        families: dict[str, list[Claim]] = {}  # the claims so far, by family
        ids = [claim.id for claim in self.claims]
        for index, claim in enumerate(self.claims):
            if claim.bound_with is not None and claim.bound_with not in ids:
                yield refused(f"claims[{index}].bound_with", claim.bound_with, f"one of {', '.join(ids)}")
            if claim.id in ids[:index]:
                yield refused(f"claims[{index}].id", claim.id, "each id once")
            earlier = families.setdefault(claim.family, [])
            allowed: set[str | None] = {None, earlier[0].id} if len(earlier) == 1 else {None}
            if len(earlier) > 1 and earlier[1].after is not None:
                allowed = {earlier[-1].id}
            if claim.after not in allowed:
                words = f"{earlier[-1].id}, the claim before it," if earlier else "none"
                words = f"{words} in all claims of the family {claim.family} but its first, or in none"
                yield refused(f"claims[{index}].after", claim.after, words)
            earlier.append(claim)


def read_claims(path: Path) -> tuple[Claim, ...]:
    """Read and check the ledger; a UserError has one line per problem."""
    return load_section(path, ClaimsFile).claims


def declared_pairs(claims: Sequence[Claim]) -> dict[tuple[str, str, str], tuple[str, ...]]:
    """(variant, baseline, metric) of every difference on the average that the ledger declares -> its claims' families.

    A claim about this difference alone goes before one about a mean that contains it.
    """
    pairs: dict[tuple[str, str, str], tuple[str, ...]] = {}
    tests = [(claim.test, claim.family) for claim in claims if isinstance(claim.test, DifferenceTest)]
    for test, family in sorted(tests, key=lambda pair: len(pair[0].against) > 1):
        if test.minus_metric is None and test.benchmarks is None:
            for baseline in test.against:
                if baseline != BASE:
                    pair = (test.ours, baseline, test.metric)
                    pairs[pair] = tuple(dict.fromkeys([*pairs.get(pair, ()), family]))
    return pairs
