"""The content of `configs/studies/<study>.yaml`, as it is written."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from ict_core.config.inputs import Hours
from ict_core.config.mistakes import Fault, one_of, refused, show_value
from ict_core.config.section import Count, Few, Name, Section, Seed, Steps, Temperature, Threads, is_absent
from ict_core.config.tuning import Tuning
from ict_core.process.numerics import Numerics
from ict_core.store.layout import allowed_instead, cell_folder

_MOST_TRAININGS = 10_000  # a dry run of so many takes minutes
_LARGEST_K = 4  # the largest k of pass@k in the tables
_OF_TABLES = ("average", "metric", "model", "seeds", "variant")  # columns beside those of benchmarks

Tracker = Literal["tensorboard", "trackio", "wandb"]
Points = Annotated[float, Field(ge=0, lt=100)]
Compared = Literal["pass@1", "pass@4"]  # a metric in which methods are compared


class WithinReach(Section):
    """Train only on problems that the base model answers right in some of its samples, but not in all.

    For the other problems all rollouts of a group tend to have the same reward, so that all advantages are 0.
    """

    samples: int = Field(ge=2, le=10_000)  # answers a problem, by the evaluation's engine at the training's temperature
    problems: Count | None = None  # how many problems are answered, drawn by `data.seed`; absent: all


class Data(Section):
    """The problems that a study generates or reads."""

    seed: Seed
    train_problems: Count | None = None  # number to generate, or to draw from `train_sets`; absent: all of these
    train_sets: tuple[Name, ...] | None = Field(
        default=None,
        min_length=1,
        description="a list of one or more names of files in configs/data (absent: generated problems)",
    )
    within_reach: WithinReach | None = Field(default=None, exclude_if=is_absent)  # absent: all are trained on
    problems_per_benchmark: Few | None = None  # in place of each benchmark's own number; at most its rows
    problems_of: dict[Name, Few] | None = Field(default=None, exclude_if=is_absent)  # by benchmark, in its place
    mirror: str | None = Field(
        default=None,
        min_length=1,
        description="a folder of OWNER/NAME/CONFIG/SPLIT.jsonl (from the repository's folder; absent: the hub)",
    )

    def faults(self) -> Iterator[Fault]:
        if self.train_sets is None and self.train_problems is None:
            yield Fault("train_problems", "missing; allowed: a whole number >= 1, or data.train_sets")


class Evaluation(Section):
    """How the trained models answer the benchmarks."""

    engine: Literal["vllm", "transformers"]
    samples: Few  # completions per problem; a study needs 4 or more
    samples_of: dict[Name, Few] | None = None  # by benchmark, in place of `samples`
    temperature: Temperature
    top_p: float = Field(gt=0, le=1)
    max_new_tokens: Count
    threads: Threads  # CPU threads of one engine

    def samples_for(self, benchmark: str) -> int:
        """Completions of each problem of a benchmark."""
        return (self.samples_of or {}).get(benchmark, self.samples)


class LearningCurve(Section):
    """Accuracy on the same held-out problems during the training of every evaluated cell, from step 0 on.

    The training's own sampler answers, with separate random numbers, so that no training depends on it.
    """

    every: Count  # optimiser steps between two points
    problems: int = Field(ge=1, le=100)  # number of problems, over all benchmarks, drawn by `data.seed`
    samples: Few  # answers to each problem
    benchmarks: tuple[Name, ...] | None = Field(  # benchmarks of the study from which problems are drawn; absent: all
        default=None, min_length=1, description="a list of one or more of the study's benchmarks"
    )


class Grading(Section):
    """The limits on the grading of one answer."""

    seconds: float = Field(ge=0.1, le=3600)
    memory_mib: int = Field(ge=256, le=2**20)


class JobHours(Section):
    """Time limits of one job, hours, for a cluster's scheduler, in place of those in the models' files.

    A study's recipe may be much shorter than a model's limits allow.
    """

    train: Hours
    generate: Hours


class Cell(NamedTuple):
    """One run of the grid. Cells sort by model, variant, seed."""

    model: str
    variant: str
    seed: int

    @property
    def folder(self) -> str:
        """Its folder in a study's results."""
        return cell_folder(*self)


class Validity(Section):
    """The gates that show whether the study can tell rules apart, declared before the runs: their arms and bounds.

    No arm is a rule under test. Points are percent points. In a model without its arms a gate is not measured.
    """

    baseline: Name  # the method that trains every token
    replica: Name  # the same method with other random numbers
    random: Name  # a rule that keeps tokens at random
    oracle: Name  # a rule that must win if selection can matter
    oracle_control: Name  # as many tokens as the oracle keeps, at random
    gain_points: Points  # lowest gain of the baseline over its base model, in pass@1
    gain_lower_points: Points  # the lower limit of that gain's interval is above this
    ceiling_percent: Annotated[float, Field(gt=0, le=100)]  # the highest pass@1 that a model could reach
    below_ceiling_points: Points  # pass@1 of the baseline is at least this far below `ceiling_percent`
    kept_share: Annotated[float, Field(ge=0, le=1)]  # lowest share of the baseline's gain that `random` keeps
    kept_share_lower: Annotated[float, Field(ge=0, le=1)]  # the lower limit of that share's interval is above this
    compared: Compared  # metric for replica and oracle, in which rules are compared
    headroom_points: Points | None = Field(default=None, exclude_if=is_absent)  # least pass@4 headroom of averaged sets

    def arms(self) -> dict[str, str]:
        """The methods of the gates, by key."""
        return {key: getattr(self, key) for key in ("baseline", "replica", "random", "oracle", "oracle_control")}

    def faults(self) -> Iterator[Fault]:
        for key, other in (("replica", "baseline"), ("random", "baseline"), ("oracle_control", "oracle")):
            if (arm := getattr(self, key)) == getattr(self, other):
                yield refused(key, arm, f"another method than that of {other}")
        for key, upper in (("gain_lower_points", "gain_points"), ("kept_share_lower", "kept_share")):
            lower, bound = getattr(self, key), getattr(self, upper)
            if lower > bound:
                yield refused(key, lower, f"at most {upper}, {bound:g}")
        if self.below_ceiling_points >= self.ceiling_percent:
            allowed = f"less than ceiling_percent, {self.ceiling_percent:g}"
            yield refused("below_ceiling_points", self.below_ceiling_points, allowed)


class Primary(Section):
    """The study's own question, declared before the runs: differences, corrected together and answered first."""

    metric: Compared  # averaged over the benchmarks
    comparisons: tuple[tuple[Name, Name], ...] = Field(
        min_length=1, description="a list of [a method, the method that it is to be better than]"
    )

    def faults(self) -> Iterator[Fault]:
        for index, pair in enumerate(self.comparisons):
            if pair[0] == pair[1] or set(pair) in map(set, self.comparisons[:index]):
                yield refused(f"comparisons[{index}]", list(pair), "two different methods, and each pair once")


class EvidenceBounds(Section):
    """What counts as a difference worth finding, declared before the runs."""

    margin_points: float = Field(gt=0, lt=100)  # percent points; arms that are closer than this are equivalent
    power: float = Field(gt=0.5, lt=1)  # for the smallest detectable difference and the seeds needed
    primary: Primary | None = Field(default=None, exclude_if=is_absent)  # absent: the ledger's first claim leads
    validity: Validity | None = Field(default=None, exclude_if=is_absent)  # absent: no gates


class TokenStudy(Section):
    """How the rules are compared on the untrained models' tokens (`snakemake token_study`)."""

    gradient_prompts: Count  # prompts with right and wrong answers to take gradients of: a backward pass per rule
    with_advantage: bool = False  # read only prompts with right and wrong answers; others have no advantage
    trained: tuple[Name, ...] | None = Field(default=None, exclude_if=is_absent)  # variants read by `readings` too


class Block(Section):
    """A part of the grid: every model with every method and every seed."""

    models: tuple[Name, ...] = Field(min_length=1)
    methods: tuple[Name, ...] = Field(min_length=1)
    seeds: tuple[Seed, ...] = Field(
        min_length=1, description="a list of at least one seed, each a whole number >= 0 and < 2147483648"
    )

    def cells(self) -> list[Cell]:
        """The cells of the block, in its order."""
        return [Cell(model, variant, seed) for model in self.models for variant in self.methods for seed in self.seeds]


class StudyFile(Section):
    """A study as it is written, with the names of its other files."""

    study: Name
    note: str = Field(min_length=1)
    scale: Literal["mini", "paper"]  # recorded with the results; nothing depends on it
    training: Name
    selection_warmup_steps: Steps | None = None  # for methods with a warm-up that do not state it
    data: Data
    benchmarks: tuple[Name, ...] = Field(min_length=1)
    evaluation: Evaluation
    grading: Grading
    evidence: EvidenceBounds
    grid: tuple[Block, ...] = Field(min_length=1)
    baselines: tuple[Name, ...] = Field(min_length=1)
    tuning: Tuning | None = None  # how every variant's learning rate is chosen before it trains
    rates_of: Name | None = None  # or a stored study that chose the rates; without both all train at the recipe's
    token_study: TokenStudy = TokenStudy(gradient_prompts=8)
    numerics: Numerics | None = None  # absent: portable, or native where a model states GPUs (or deterministic)
    learning_curve: LearningCurve | None = None  # absent: none
    job_hours: JobHours | None = None  # absent: the limits in `hardware` of each model's file
    rollouts_mib: Count | None = None  # keep all rollouts, up to this many MiB per training; absent: none are kept
    trackers: tuple[Tracker, ...] = ()  # trackers that trainings report to (TRL's `report_to`); absent: none
    shown: tuple[Name, ...] | None = Field(  # variants with a line in figures; absent: all, or 16 without controls
        default=None, min_length=1, description="a list of one or more variants of the grid"
    )
    beside: tuple[Name, ...] = ()  # stored studies (results/reference) whose verdicts are shown too

    def faults(self) -> Iterator[Fault]:
        if (runs := self.most_trainings()) > _MOST_TRAININGS:
            yield Fault("grid", f"{runs} trainings with those that tune; allowed: at most {_MOST_TRAININGS} in a study")
            return
        if allowed := allowed_instead(self.study):
            yield refused("study", self.study, allowed)
        if self.tuning is not None and self.rates_of is not None:
            yield refused("rates_of", self.rates_of, "absent, as the study has a tuning of its own")
        for index, name in enumerate(self.benchmarks):
            if name in _OF_TABLES:
                yield refused(f"benchmarks[{index}]", name, f"any name but {', '.join(_OF_TABLES)}, columns of tables")
        counts = {f"samples_of.{name}": samples for name, samples in (self.evaluation.samples_of or {}).items()}
        for key, samples in {"samples": self.evaluation.samples, **counts}.items():
            if samples < _LARGEST_K:
                allowed = f"at least {_LARGEST_K} (n < k otherwise: the tables show pass@{_LARGEST_K})"
                yield refused(f"evaluation.{key}", samples, allowed)
        named = {f"evaluation.samples_of.{name}": name for name in self.evaluation.samples_of or ()}
        named |= {f"data.problems_of.{name}": name for name in self.data.problems_of or ()}
        named |= _by_place("learning_curve.benchmarks", self.learning_curve.benchmarks if self.learning_curve else None)
        for key, name in named.items():
            if name not in self.benchmarks:
                yield Fault(key, f"{name!r} is no benchmark of the study; {one_of(self.benchmarks)}")
        yield from self._repeated_cells()
        yield from self._lacking_baselines()
        evaluated = {seed for block in self.grid for seed in block.seeds}
        for index, seed in enumerate(self.tuning.seeds if self.tuning else ()):
            if seed in evaluated:  # and so no generated base model both tunes and evaluates
                yield refused(f"tuning.seeds[{index}]", seed, "a seed that no cell has, such as one from 900 on")
        named, variants = _by_place("shown", self.shown), self.variants()
        named |= _by_place("token_study.trained", self.token_study.trained)
        named |= {"evidence.validity.baseline": self.evidence.validity.baseline} if self.evidence.validity else {}
        for index, pair in enumerate(self.evidence.primary.comparisons if self.evidence.primary else ()):
            named |= _by_place(f"evidence.primary.comparisons[{index}]", pair)
        for key, name in named.items():
            if name not in variants:
                yield Fault(key, f"{name!r} is not in the grid; {one_of(variants)}")
        yield from self._untested_questions()

    def names(self) -> Iterator[tuple[str, str, str]]:
        """Every other file that the study names: its folder in `configs`, the key that names it, the name."""
        yield "training", "training", self.training
        for index, name in enumerate(self.benchmarks):
            yield "benchmarks", f"benchmarks[{index}]", name
        for number, block in enumerate(self.grid):
            for kind in ("models", "methods"):
                for index, name in enumerate(getattr(block, kind)):
                    yield kind, f"grid[{number}].{kind}[{index}]", name
        for index, name in enumerate(self.data.train_sets or ()):
            yield "data", f"data.train_sets[{index}]", name

    def most_trainings(self) -> int:
        """How many trainings the grid and the tuning may ask for."""
        tuning, twice = self.tuning, 1 + bool(self.tuning and self.tuning.shared_rate)
        tuned = (len(tuning.rates) + 4 * tuning.extend) * len(tuning.seeds) if tuning else 0
        arms = {(model, variant) for block in self.grid for model in block.models for variant in block.methods}
        return tuned * len(arms) + sum(twice * len(b.models) * len(b.methods) * len(b.seeds) for b in self.grid)

    def variants(self) -> list[str]:
        """The variants of the grid, each once."""
        return list(dict.fromkeys(variant for block in self.grid for variant in block.methods))

    def _repeated_cells(self) -> Iterator[Fault]:
        blocks: dict[Cell, int] = {}  # the first block with each cell
        for index, block in enumerate(self.grid):
            again = [cell for cell in block.cells() if blocks.setdefault(cell, index) != index]
            if again:
                names = ", ".join(f"{cell.model}/{cell.variant}/seed {cell.seed}" for cell in again[:5])
                more = f" and {len(again) - 5} more" if len(again) > 5 else ""
                yield Fault(f"grid[{index}]", f"{names}{more} already stand in another block; allowed: each cell once")

    def _untested_questions(self) -> Iterator[Fault]:
        """Check that the methods of each of the study's own questions are paired: a test needs two seeds of a model."""
        models = self._seeds().values()
        for index, (first, second) in enumerate(self.evidence.primary.comparisons if self.evidence.primary else ()):
            paired = any(len(seeds.get(first, set()) & seeds.get(second, set())) > 1 for seeds in models)
            if {first, second} <= set(self.variants()) and not paired:
                allowed = "two methods that the grid runs with two or more common seeds of a model"
                yield refused(f"evidence.primary.comparisons[{index}]", [first, second], allowed)

    def _seeds(self) -> dict[str, dict[str, set[int]]]:
        """The grid's seeds by model and variant."""
        seeds: dict[str, dict[str, set[int]]] = {}
        for block in self.grid:
            for cell in block.cells():
                seeds.setdefault(cell.model, {}).setdefault(cell.variant, set()).add(cell.seed)
        return seeds

    def _lacking_baselines(self) -> Iterator[Fault]:
        seeds = self._seeds()
        for index, baseline in enumerate(self.baselines):
            for model, variants in seeds.items():
                others = set().union(*(run for variant, run in variants.items() if variant != baseline))
                lacking = sorted(others - variants.get(baseline, set()))
                if lacking:
                    text = (
                        f"{baseline!r} is not in the grid for model {model} with the seeds {show_value(lacking)}, "
                        "where other methods are compared with it; allowed: a method that the grid runs for every "
                        f"model with every seed of the others (here: {', '.join(variants)})"
                    )
                    yield Fault(f"baselines[{index}]", text)


def _by_place(key: str, names: Sequence[str] | None) -> dict[str, str]:
    """The names of a list, if there is one, each under its own dotted key."""
    return {f"{key}[{index}]": name for index, name in enumerate(names or ())}
