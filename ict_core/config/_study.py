"""`configs/studies/<study>.yaml` and the :class:`Study` that it resolves to."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from ict_core.config._inputs import Benchmark, Model, ScratchModel, TrainingSet
from ict_core.config._methods import Method, Training
from ict_core.config._section import Count, Name, Section, Seed
from ict_core.config.mistakes import Fault, closest, refused, repeated
from ict_core.process.numerics import Numerics
from ict_core.seeding import derive_seed
from ict_core.store import BASE_VARIANT, base_number, cell_folder


class Comparison(NamedTuple):
    """What two resolved configurations differ in: the proof that two arms differ in what they declare alone."""

    different: list[tuple[str, Any, Any]]  # each key, dotted, with its value in both; "—" where one lacks it
    equal: int  # how many other keys there are


def compare(first: Mapping[str, Any], second: Mapping[str, Any]) -> Comparison:
    """Compare every value of two nested mappings, in the order of the first, then of the second."""
    ours, theirs = dict(_flat(first)), dict(_flat(second))
    pairs = [(key, ours.get(key, "—"), theirs.get(key, "—")) for key in ours | theirs]
    different = [(key, one, other) for key, one, other in pairs if one != other]
    return Comparison(different, len(pairs) - len(different))


def _flat(section: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in section.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


# what a model's file states beside what determines its weights, and beside what determines its training
_NOT_OF_THE_WEIGHTS = {"allow_unpinned", "dtype", "hardware", "licence", "prompt"}
_OF_THE_SCHEDULER = {"memory_gib", "train_hours", "generate_hours"}
_NOT_OF_THE_TRAINING = {"allow_unpinned": True, "licence": True, "hardware": _OF_THE_SCHEDULER}

_MOST_CELLS = 20_000
_LARGEST_K = 4  # of the tables

Tracker = Literal["tensorboard", "trackio", "wandb"]
Stage = Literal["train_data", "eval_data", "base", "train", "generate", "grade", "shadow", "evidence"]


class Data(Section):
    """The problems that a study generates or reads."""

    seed: Seed
    train_problems: Count | None = None  # to generate, or to draw from the training sets; absent: all of these
    train_sets: tuple[Name, ...] | None = Field(
        default=None,
        min_length=1,
        description="a list of one or more names of files in configs/data (absent: generated problems)",
    )
    problems_per_benchmark: Count | None = None  # in place of each benchmark's own number; a published set has its rows
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
    samples: Count  # completions a problem
    samples_of: dict[Name, Count] | None = None  # of single benchmarks, in place of `samples`
    temperature: float = Field(gt=0)
    top_p: float = Field(gt=0, le=1)
    max_new_tokens: Count
    threads: Count  # CPU threads of one engine

    def faults(self) -> Iterator[Fault]:
        counts = {f"samples_of.{name}": samples for name, samples in (self.samples_of or {}).items()}
        for key, samples in {"samples": self.samples, **counts}.items():
            if samples < _LARGEST_K:
                allowed = f"at least {_LARGEST_K} (n < k otherwise: the tables show pass@{_LARGEST_K})"
                yield refused(key, samples, allowed)

    def samples_for(self, benchmark: str) -> int:
        """Completions of each problem of a benchmark."""
        return (self.samples_of or {}).get(benchmark, self.samples)


class Grading(Section):
    """What one answer may cost the grader."""

    seconds: float = Field(gt=0)
    memory_mib: int = Field(ge=256)


class Cell(NamedTuple):
    """One run of the grid. Cells sort by model, variant, seed."""

    model: str
    variant: str
    seed: int

    @property
    def folder(self) -> str:
        """Its place in a study's results."""
        return cell_folder(*self)


class EvidenceBounds(Section):
    """What counts as a difference worth finding, declared before the runs."""

    margin_points: float = Field(gt=0, lt=100)  # percent points: closer than this is equivalent
    power: float = Field(gt=0.5, lt=1)  # of the smallest detectable difference and of the seeds needed


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
    scale: Literal["mini", "paper"]
    training: Name
    selection_warmup_steps: Annotated[int, Field(ge=0)] | None = None  # of the methods that have one and do not say it
    data: Data
    benchmarks: tuple[Name, ...] = Field(min_length=1)
    evaluation: Evaluation
    grading: Grading
    evidence: EvidenceBounds
    grid: tuple[Block, ...] = Field(min_length=1)
    baselines: tuple[Name, ...] = Field(min_length=1)
    seeds_per_base: Count | None = None  # training seeds that begin with one base model; absent: all of them
    numerics: Numerics | None = None  # absent: portable, or native where a model states GPUs
    trackers: tuple[Tracker, ...] = ()  # that trainings report to (TRL's `report_to`); absent: none
    shown: tuple[Name, ...] | None = None  # variants that the figures of a line each show; absent: those of every model

    def faults(self) -> Iterator[Fault]:
        yield from repeated("benchmarks", self.benchmarks)
        yield from repeated("baselines", self.baselines)
        for name in (self.evaluation.samples_of or {}).keys() - set(self.benchmarks):
            yield Fault(f"evaluation.samples_of.{name}", f"no such benchmark; {closest(name, self.benchmarks)}")
        size = sum(len(block.models) * len(block.methods) * len(block.seeds) for block in self.grid)
        if size > _MOST_CELLS:
            yield Fault("grid", f"has {size:,} cells; allowed: at most {_MOST_CELLS:,}")
            return
        yield from self._repeated_cells()
        yield from self._broken_bases()
        yield from self._lacking_baselines()
        variants = self.variants()
        for index, variant in enumerate(self.shown or ()):
            if variant not in variants:
                yield Fault(f"shown[{index}]", f"{variant!r} is not in the grid; {closest(variant, variants)}")

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

    def _broken_bases(self) -> Iterator[Fault]:
        """Every base model has all of its seeds: levels and differences are means over them."""
        per_base = self.seeds_per_base or 1
        for index, block in enumerate(self.grid):
            seeds = Counter(base_number(seed, per_base) for seed in block.seeds)
            broken = [base for base, number in seeds.items() if number != per_base]
            if broken:
                first = broken[0] * per_base
                whole = f"{first} to {first + per_base - 1}, as seeds_per_base is {per_base}"
                yield refused(f"grid[{index}].seeds", list(block.seeds), f"whole groups of seeds, such as {whole}")

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


@dataclass(frozen=True)
class Study:
    """A study whose names are resolved and whose values are checked; its mappings keep the study's order."""

    name: str  # the folder under `results`
    note: str  # a sentence that every table shows
    scale: str  # `mini` results do not speak for the paper's scale
    data: Data
    training: Training
    models: dict[str, Model]  # by name
    methods: dict[str, Method]  # by variant
    benchmarks: dict[str, Benchmark]  # by name; `problems_per_benchmark` is already applied
    train_sets: dict[str, TrainingSet]  # by name; empty where problems are generated
    evaluation: Evaluation
    grading: Grading
    evidence: EvidenceBounds
    grid: tuple[Block, ...]  # as written
    baselines: tuple[str, ...]  # the variants that every other one is compared with
    seeds_per_base: int | None  # training seeds that begin with one base model; None: all of them
    numerics: Numerics  # what the CPU's libraries are held to
    trackers: tuple[Tracker, ...]  # that trainings report to; no result depends on them
    shown: tuple[str, ...] | None  # variants with a line in every figure; None: those that every model runs

    def cells(self) -> list[Cell]:
        """Every trained cell once, in the grid's order."""
        return [cell for block in self.grid for cell in block.cells()]

    def base_of(self, cell: Cell) -> Cell:
        """The untrained model that a cell's training begins with, the same for every variant; its seed is a number."""
        if cell.variant == BASE_VARIANT:
            return cell
        return Cell(cell.model, BASE_VARIANT, base_number(cell.seed, self.seeds_per_base))

    def base_cells(self) -> list[Cell]:
        """The untrained models that the grid's trainings begin with, models in the study's order."""
        order = list(self.models)
        return sorted({self.base_of(cell) for cell in self.cells()}, key=lambda base: (order.index(base.model), base))

    def base_model(self, base: Cell) -> Model:
        """The model of one of :meth:`base_cells`: where it is pretrained, with the seed of that base model."""
        model = self.models[base.model]
        if base.seed == 0 or not isinstance(model, ScratchModel):
            return model
        seed = derive_seed(model.pretraining.seed, "base model", base.seed)
        return model.changed(pretraining=model.pretraining.changed(seed=seed))

    def evaluated_cells(self) -> list[Cell]:
        """Every cell that answers the benchmarks: the base models first, then the trained ones."""
        return [*self.base_cells(), *self.cells()]

    def answers(self) -> int:
        """How many answers one cell gives to all benchmarks."""
        return sum(benchmark.drawn * self.evaluation.samples_for(name) for name, benchmark in self.benchmarks.items())

    def training_of(self, model: str, variant: str | None = None) -> Training:
        """The recipe as a model's hardware runs it: one recipe for all, but for the micro-batches.

        A variant that has a group size of its own makes as many rollouts a step, of more or fewer prompts.
        """
        training, hardware = self.training, self.models[model].hardware
        size = None if variant is None else self.methods[variant].group_size
        changed = {} if hardware is None else {"micro_batch_sequences": hardware.micro_batch_sequences}
        if size is not None:
            changed |= {"group_size": size, "prompts_per_step": training.sequences_per_step // size}
        return training.changed(**changed)

    def training_seed(self, cell: Cell) -> int:
        """What all random numbers of a cell's training are derived from: its seed, or of a replica above 0 another."""
        replica = self.methods[cell.variant].replica
        return derive_seed(cell.seed, "replica", replica) if replica else cell.seed

    def shared_methods(self) -> list[str]:
        """What the main figures show: the variants that the study names, else those that every model runs."""
        if self.shown is not None:
            return list(self.shown)
        ran = {(cell.model, cell.variant) for cell in self.cells()}
        return [variant for variant in self.methods if all((model, variant) in ran for model in self.models)]

    def resolve(self, cell: Cell) -> dict[str, Any]:
        """All that determines one cell's training beside its input files, as JSON-able values.

        Two cells of one model differ in `method` and `seed` only, and where a variant's factor is the group size in
        this. Nothing of the evaluation is in it, so that a change there retrains nothing.
        """
        return {
            "seed": cell.seed,
            "model": _stated(cell.model, self.base_model(self.base_of(cell)), exclude=_NOT_OF_THE_TRAINING),
            "method": {"name": cell.variant, **self.methods[cell.variant].settings()},
            "training": self.training_of(cell.model, cell.variant).dump(),
            "data": self._train_data(),
            "grading": self.grading.dump(),  # the rewards come from the same grader
            "numerics": self.numerics,
        }

    def compare(self, first: str, second: str) -> Comparison:
        """What the trainings of two variants differ in beside their names, on one model with one seed."""
        cell = self.cells()[0]
        one, other = (self.resolve(Cell(cell.model, variant, cell.seed)) for variant in (first, second))
        different, equal = compare(one, other)
        return Comparison([pair for pair in different if pair[0] != "method.name"], equal)

    def arms(self) -> dict[str, dict[str, Any]]:
        """Each variant beside the one that it varies (`of`), as JSON-able values.

        A variant that declares none, or one that the study does not train, stands beside the first baseline, its
        `factor` null; the first baseline has no entry unless it declares one. Else as :class:`Comparison`.
        """
        arms: dict[str, dict[str, Any]] = {}
        for variant, method in self.methods.items():
            declared = method.ablation if method.ablation and method.ablation.of in self.methods else None
            varied, factor = (declared.of, declared.factor) if declared else (self.baselines[0], None)
            if varied != variant:
                different, equal = self.compare(varied, variant)
                pairs = [list(pair) for pair in different]
                arms[variant] = {"of": varied, "factor": factor, "different": pairs, "equal": equal}
        return arms

    def stage_config(self, stage: Stage, cell: Cell | None = None) -> dict[str, Any]:
        """All that determines one stage's outputs beside its input files, as JSON-able values.

        Args:
            cell: for `train` a trained cell, for `generate` also and for `base` only one of :meth:`base_cells`.
        """
        if stage in ("train", "generate", "base") and cell is None:
            raise ValueError(f"stage {stage} needs a cell")
        if stage == "train" and cell:
            return self.resolve(cell)
        if stage == "base" and cell:
            made_here = isinstance(self.models[cell.model], ScratchModel)  # a fetched one's bytes depend on no numerics
            model = {"model": _stated(cell.model, self.base_model(cell), exclude=_NOT_OF_THE_WEIGHTS)}
            return model | {"numerics": self.numerics} if made_here else model
        if stage == "generate" and cell:
            return {
                "seed": cell.seed,
                "model": _stated(cell.model, self.models[cell.model], include={"dtype", "prompt"}),
                "evaluation": self.evaluation.dump(),
                "benchmarks": list(self.benchmarks),
                "numerics": self.numerics,
            }
        if stage == "train_data":  # the evaluation problems, which no training problem may be, are its input
            return self._train_data()
        if stage == "eval_data":
            sets = {name: benchmark.dump() for name, benchmark in self.benchmarks.items()}
            return {"seed": self.data.seed, "benchmarks": sets}
        if stage == "grade":
            return self.grading.dump()
        if stage == "shadow":
            rules = {v: [m.selector, {k: str(x) for k, x in m.parameters().items()}] for v, m in self.methods.items()}
            return {"rules": rules, "baseline": self.baselines[0]}
        if stage != "evidence":  # which shows what was run, so reads everything
            raise ValueError(f"there is no stage {stage!r}")
        return {
            "study": self.name,
            **{key: getattr(self, key) for key in ("note", "scale", "numerics")},
            **{key: getattr(self, key).dump() for key in ("data", "training", "evaluation", "grading", "evidence")},
            "models": {name: model.dump() for name, model in self.models.items()},
            "methods": {name: method.dump() for name, method in self.methods.items()},
            "arms": self.arms(),
            "benchmarks": [b.dump() | {"problems": b.drawn} for b in self.benchmarks.values()],  # their order counts
            "train_sets": [train_set.dump() for train_set in self.train_sets.values()],
            "grid": [block.dump() for block in self.grid],
            "baselines": list(self.baselines),
            "seeds_per_base": self.seeds_per_base,
            "shown": self.shared_methods(),
        }

    def _train_data(self) -> dict[str, Any]:
        """Where rows are read from is no part of it: hub and mirror give the same."""
        generated = {"seed": self.data.seed, "train_problems": self.data.train_problems}
        sets = {name: train_set.dump() for name, train_set in self.train_sets.items()}
        return {**generated, "train_sets": sets} if sets else generated


def _stated(name: str, model: Model, **fields: Any) -> dict[str, Any]:
    """A model's name and some of what its file states, chosen as by `model_dump`."""
    return {"name": name, **model.model_dump(mode="json", **fields)}
