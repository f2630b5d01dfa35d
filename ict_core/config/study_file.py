"""`configs/studies/<study>.yaml` as it is written."""

from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from ict_core.config.inputs import Hours
from ict_core.config.mistakes import Fault, one_of, refused, repeated
from ict_core.config.section import Count, Few, Name, Section, Seed, Steps, Temperature, Threads, is_absent
from ict_core.config.tuning import Tuning
from ict_core.process.numerics import Numerics
from ict_core.store.layout import allowed_instead, cell_folder

_MOST_TRAININGS = 10_000  # of which a dry run takes minutes
_LARGEST_K = 4  # of the tables

Tracker = Literal["tensorboard", "trackio", "wandb"]
Pair = Annotated[int, Field(ge=2, le=10_000)]
Points = Annotated[float, Field(ge=0, lt=100)]


class WithinReach(Section):
    """Which training problems are trained on: those that the base model answers right at times, and not always.

    Of the others every rollout of a group has one reward, so no advantage differs from 0.
    """

    samples: Pair  # answers of each problem, by the evaluation's engine at the training's temperature
    problems: Count | None = None  # that are asked, drawn by `data.seed`; absent: all


class Data(Section):
    """The problems that a study generates or reads."""

    seed: Seed
    train_problems: Count | None = None  # to generate, or to draw from the training sets; absent: all of these
    train_sets: tuple[Name, ...] | None = Field(
        default=None,
        min_length=1,
        description="a list of one or more names of files in configs/data (absent: generated problems)",
    )
    within_reach: WithinReach | None = Field(default=None, exclude_if=is_absent)  # absent: all of them are trained on
    problems_per_benchmark: Few | None = None  # in place of each benchmark's own number; a published set has its rows
    problems_of: dict[Name, Few] | None = Field(default=None, exclude_if=is_absent)  # single benchmarks', in its place
    mirror: str | None = Field(
        default=None,
        min_length=1,
        description="a folder of OWNER/NAME/CONFIG/SPLIT.jsonl (from the repository's folder; absent: the hub)",
    )

    def faults(self) -> Iterator[Fault]:
        if self.train_sets is None and self.train_problems is None:
            yield Fault("train_problems", "missing; allowed: a whole number >= 1, or data.train_sets")
        yield from repeated("train_sets", self.train_sets or ())


class Evaluation(Section):
    """How the trained models answer the benchmarks."""

    engine: Literal["vllm", "transformers"]
    samples: Few  # completions a problem
    samples_of: dict[Name, Few] | None = None  # of single benchmarks, in place of `samples`
    temperature: Temperature
    top_p: float = Field(gt=0, le=1)
    max_new_tokens: Count
    threads: Threads  # CPU threads of one engine

    def samples_for(self, benchmark: str) -> int:
        """Completions of each problem of a benchmark."""
        return (self.samples_of or {}).get(benchmark, self.samples)


class LearningCurve(Section):
    """Accuracy on the same held-out problems while every evaluated cell trains, at step 0 and from there on.

    The training's own sampler answers, with random numbers of its own: no training depends on it.
    """

    every: Count  # optimiser steps between two points
    problems: int = Field(ge=1, le=100)  # of all benchmarks together, drawn by `data.seed`
    samples: Few  # answers of each problem
    benchmarks: tuple[Name, ...] | None = Field(  # of the study, whose problems are drawn; absent: all
        default=None, min_length=1, description="a list of one or more of the study's benchmarks"
    )

    def faults(self) -> Iterator[Fault]:
        yield from repeated("benchmarks", self.benchmarks or ())


class Grading(Section):
    """What one answer may cost the grader."""

    seconds: float = Field(ge=0.1, le=3600)
    memory_mib: int = Field(ge=256, le=2**20)


class JobHours(Section):
    """The limits that a cluster's scheduler is given for one job, in place of those of the models' files.

    The recipe of a study may be much shorter than the one that a model's limits allow.
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
        """Its place in a study's results."""
        return cell_folder(*self)


class Validity(Section):
    """The gates that say whether the study can tell, declared before the runs: their arms and bounds.

    None of the arms is a rule under test. Points are percent points. A gate whose arms no model ran is not measured.
    """

    baseline: Name  # the method that trains every token
    replica: Name  # the same with other random numbers
    random: Name  # tokens at random
    oracle: Name  # a rule that must win if selection can matter
    oracle_control: Name  # as many tokens at random
    gain_points: Points  # pass@1 of the baseline less its base model's: at least
    gain_lower_points: Points  # and the lower limit of its interval above
    ceiling_percent: Annotated[float, Field(gt=0, le=100)]  # the highest pass@1 that a model could reach
    below_ceiling_points: Points  # pass@1 of the baseline lies at least so far below it
    kept_share: Annotated[float, Field(ge=0, le=1)]  # of the baseline's gain that random tokens keep: at least
    kept_share_lower: Annotated[float, Field(ge=0, le=1)]  # and the lower limit of its interval above
    compared: Literal["pass@1", "pass@4"]  # of replica and oracle, the metric in which rules are compared
    headroom_points: Points | None = Field(default=None, exclude_if=is_absent)  # in pass@4, on every set of the average

    def arms(self) -> dict[str, str]:
        """Its methods by key."""
        return {key: getattr(self, key) for key in ("baseline", "replica", "random", "oracle", "oracle_control")}

    def faults(self) -> Iterator[Fault]:
        for key, other in (("replica", "baseline"), ("random", "baseline"), ("oracle_control", "oracle")):
            if (arm := getattr(self, key)) == getattr(self, other):
                yield refused(key, arm, f"another method than that of {other}")
        for key, of in (("gain_lower_points", "gain_points"), ("kept_share_lower", "kept_share")):
            lower, bound = getattr(self, key), getattr(self, of)
            if lower > bound:
                yield refused(key, lower, f"at most {of}, {bound:g}")
        if self.below_ceiling_points >= self.ceiling_percent:
            allowed = f"less than ceiling_percent, {self.ceiling_percent:g}"
            yield refused("below_ceiling_points", self.below_ceiling_points, allowed)


class EvidenceBounds(Section):
    """What counts as a difference worth finding, declared before the runs."""

    margin_points: float = Field(gt=0, lt=100)  # percent points: closer than this is equivalent
    power: float = Field(gt=0.5, lt=1)  # of the smallest detectable difference and of the seeds needed
    validity: Validity | None = Field(default=None, exclude_if=is_absent)  # absent: whether it can tell is not asked


class TokenStudy(Section):
    """How the rules are compared on the untrained models' tokens (`snakemake token_study`)."""

    gradient_prompts: Count  # prompts with right and wrong answers whose gradients are taken: a backward pass a rule
    with_advantage: bool = False  # read these prompts alone, as on others no token has an advantage
    trained: tuple[Name, ...] | None = Field(default=None, exclude_if=is_absent)  # variants that `readings` reads too


class Block(Section):
    """A part of the grid: every model with every method and every seed."""

    models: tuple[Name, ...] = Field(min_length=1)
    methods: tuple[Name, ...] = Field(min_length=1)
    seeds: tuple[Seed, ...] = Field(
        min_length=1, description="a list of at least one seed, each a whole number >= 0 and < 2147483648"
    )

    def faults(self) -> Iterator[Fault]:
        for key in ("models", "methods", "seeds"):
            yield from repeated(key, getattr(self, key))

    def cells(self) -> list[Cell]:
        """Its cells, in the order in which it names them."""
        return [Cell(model, variant, seed) for model in self.models for variant in self.methods for seed in self.seeds]


class StudyFile(Section):
    """A study as it is written: with the names of the other files."""

    study: Name
    note: str = Field(min_length=1)
    scale: Literal["mini", "paper"]  # recorded with the results; nothing depends on it
    training: Name
    selection_warmup_steps: Steps | None = None  # of the methods that have one and do not say it
    data: Data
    benchmarks: tuple[Name, ...] = Field(min_length=1)
    evaluation: Evaluation
    grading: Grading
    evidence: EvidenceBounds
    grid: tuple[Block, ...] = Field(min_length=1)
    baselines: tuple[Name, ...] = Field(min_length=1)
    tuning: Tuning | None = None  # by which every variant's learning rate is chosen before it trains
    rates_of: Name | None = None  # or a stored study that chose them; without both all train at the recipe's rate
    token_study: TokenStudy = TokenStudy(gradient_prompts=8)
    numerics: Numerics | None = None  # absent: portable, or native where a model states GPUs (or deterministic)
    learning_curve: LearningCurve | None = None  # absent: none
    job_hours: JobHours | None = None  # absent: `hardware` of each model's file says it
    rollouts_mib: Count | None = None  # keep all training rollouts, at most so many MiB a training; absent: none
    trackers: tuple[Tracker, ...] = ()  # that trainings report to (TRL's `report_to`); absent: none
    shown: tuple[Name, ...] | None = Field(  # variants in figures of one line each; absent: those that every model has
        default=None, min_length=1, description="a list of one or more variants of the grid"
    )
    beside: tuple[Name, ...] = ()  # stored studies (results/reference) whose verdicts stand beside this one's

    def faults(self) -> Iterator[Fault]:
        if (most := self.most_trainings()) > _MOST_TRAININGS:
            yield Fault("grid", f"{most} trainings with those that tune; allowed: at most {_MOST_TRAININGS} in a study")
            return
        if allowed := allowed_instead(self.study):
            yield refused("study", self.study, allowed)
        yield from repeated("beside", self.beside)
        if self.tuning is not None and self.rates_of is not None:
            yield refused("rates_of", self.rates_of, "absent, as the study has a tuning of its own")
        yield from repeated("benchmarks", self.benchmarks)
        for key in ("baselines", "trackers", "shown", "beside"):
            yield from repeated(key, getattr(self, key) or ())
        counts = {f"samples_of.{name}": samples for name, samples in (self.evaluation.samples_of or {}).items()}
        for key, samples in {"samples": self.evaluation.samples, **counts}.items():
            if samples < _LARGEST_K:
                allowed = f"at least {_LARGEST_K} (n < k otherwise: the tables show pass@{_LARGEST_K})"
                yield refused(f"evaluation.{key}", samples, allowed)
        numbers = {"evaluation.samples_of": self.evaluation.samples_of, "data.problems_of": self.data.problems_of}
        for key, of in numbers.items():
            for name in (of or {}).keys() - set(self.benchmarks):
                yield Fault(f"{key}.{name}", f"no such benchmark; {one_of(self.benchmarks)}")
        for index, name in enumerate((self.learning_curve and self.learning_curve.benchmarks) or ()):
            if name not in self.benchmarks:
                text = f"{name!r} is no benchmark of the study; {one_of(self.benchmarks)}"
                yield Fault(f"learning_curve.benchmarks[{index}]", text)
        yield from self._repeated_cells()
        yield from self._lacking_baselines()
        yield from self._seeds_that_tune_and_evaluate()
        variants = self.variants()
        validity = self.evidence.validity
        if validity and validity.baseline not in variants:
            hint = one_of(variants)
            yield Fault("evidence.validity.baseline", f"{validity.baseline!r} is not in the grid; {hint}")
        for key, named in (("shown", self.shown or ()), ("token_study.trained", self.token_study.trained or ())):
            for index, variant in enumerate(named):
                if variant not in variants:
                    yield Fault(f"{key}[{index}]", f"{variant!r} is not in the grid; {one_of(variants)}")

    def names(self) -> Iterator[tuple[str, str, str]]:
        """Every other file that it names: its folder in `configs`, the key that names it, the name."""
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
        return sum(len(b.models) * len(b.methods) * (twice * len(b.seeds) + tuned) for b in self.grid)

    def variants(self) -> list[str]:
        """The variants of the grid, each once."""
        return list(dict.fromkeys(variant for block in self.grid for variant in block.methods))

    def _repeated_cells(self) -> Iterator[Fault]:
        blocks: dict[Cell, int] = {}  # the first with each cell
        for index, block in enumerate(self.grid):
            again = [cell for cell in block.cells() if blocks.setdefault(cell, index) != index]
            if again:
                names = ", ".join(f"{cell.model}/{cell.variant}/seed {cell.seed}" for cell in again[:5])
                more = f" and {len(again) - 5} more" if len(again) > 5 else ""
                yield Fault(f"grid[{index}]", f"{names}{more} already stand in another block; allowed: each cell once")

    def _seeds_that_tune_and_evaluate(self) -> Iterator[Fault]:
        """No seed tunes and evaluates, and so no generated base model does."""
        evaluated = {seed for block in self.grid for seed in block.seeds}
        for index, seed in enumerate(self.tuning.seeds if self.tuning else ()):
            if seed in evaluated:
                yield refused(f"tuning.seeds[{index}]", seed, "a seed that no cell has, such as one from 900 on")

    def _lacking_baselines(self) -> Iterator[Fault]:
        seeds: dict[str, dict[str, set[int]]] = {}  # by model and variant
        for block in self.grid:
            for cell in block.cells():
                seeds.setdefault(cell.model, {}).setdefault(cell.variant, set()).add(cell.seed)
        for index, baseline in enumerate(self.baselines):
            for model, variants in seeds.items():
                others = set().union(*(own for variant, own in variants.items() if variant != baseline))
                lacking = sorted(others - variants.get(baseline, set()))
                if lacking:
                    text = (
                        f"{baseline!r} is not in the grid for model {model} with the seeds {lacking}, where other "
                        "methods are compared with it; allowed: a method that the grid runs for every model with "
                        f"every seed of the others (here: {', '.join(variants)})"
                    )
                    yield Fault(f"baselines[{index}]", text)
