"""`configs/studies/<study>.yaml` and the :class:`Study` that it resolves to."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from ict_core.config.benchmarks import Benchmark
from ict_core.config.differences import Comparison, compare
from ict_core.config.methods import Method
from ict_core.config.models import Model, ScratchModel
from ict_core.config.published import TrainingSet
from ict_core.config.section import Count, Name, Section, Seed
from ict_core.config.training import Training
from ict_core.process.numerics import Numerics
from ict_core.seeding import derive_seed
from ict_core.store.layout import BASE_VARIANT, cell_folder

# what a model's file states beside what determines its weights, and beside what determines its training
_NOT_OF_THE_WEIGHTS = {"allow_unpinned", "dtype", "hardware", "licence", "prompt"}
_NOT_OF_THE_TRAINING = {
    "allow_unpinned": True,
    "licence": True,
    "hardware": {"memory_gib", "train_hours", "generate_hours"},  # what a scheduler is told
}

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


class Evaluation(Section):
    """How the trained models answer the benchmarks."""

    engine: Literal["vllm", "transformers"]
    samples: Count  # completions a problem
    samples_of: dict[Name, Count] | None = None  # of single benchmarks, in place of `samples`
    temperature: float = Field(gt=0)
    top_p: float = Field(gt=0, le=1)
    max_new_tokens: Count
    threads: Count  # CPU threads of one engine

    def samples_for(self, benchmark: str) -> int:
        """Completions of each problem of a benchmark."""
        return (self.samples_of or {}).get(benchmark, self.samples)


class Grading(Section):
    """What one answer may cost the grader."""

    seconds: float = Field(gt=0)
    memory_mib: int = Field(ge=256)


class Evidence(Section):
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
    evidence: Evidence
    grid: tuple[Block, ...] = Field(min_length=1)
    baselines: tuple[Name, ...] = Field(min_length=1)
    numerics: Numerics | None = None  # absent: portable, or native where a model states GPUs
    trackers: tuple[Tracker, ...] = ()  # that trainings report to (TRL's `report_to`); absent: none
    shown: tuple[Name, ...] | None = None  # variants that the figures of a line each show; absent: those of every model


class Cell(NamedTuple):
    """One run of the grid. Cells sort by model, variant, seed."""

    model: str
    variant: str
    seed: int

    @property
    def folder(self) -> str:
        """Its place in a study's results."""
        return cell_folder(*self)


def block_cells(block: Block) -> list[Cell]:
    """The cells of one block, in the order in which it names them."""
    return [Cell(model, variant, seed) for model in block.models for variant in block.methods for seed in block.seeds]


@dataclass(frozen=True)
class Study:
    """A study whose names are resolved and whose values are checked.

    Attributes:
        name: the folder under `results`.
        note: a sentence that every table shows.
        scale: `mini` results do not speak for the paper's scale.
        models: by name, in the grid's order.
        methods: by variant, in the grid's order.
        benchmarks: by name, in the study's order; `problems_per_benchmark` is already applied.
        train_sets: the published training sets by name, in the study's order; empty where problems are generated.
        grid: the blocks as written.
        baselines: the variants that every other one is compared with.
        numerics: what the CPU's libraries are held to (`ict_core.process.numerics`).
        trackers: that trainings report to; no result depends on them.
        shown: those of the figures in which every variant has a line; None for those that every model runs.
    """

    name: str
    note: str
    scale: str
    data: Data
    training: Training
    models: dict[str, Model]
    methods: dict[str, Method]
    benchmarks: dict[str, Benchmark]
    train_sets: dict[str, TrainingSet]
    evaluation: Evaluation
    grading: Grading
    evidence: Evidence
    grid: tuple[Block, ...]
    baselines: tuple[str, ...]
    numerics: Numerics
    trackers: tuple[Tracker, ...]
    shown: tuple[str, ...] | None

    def cells(self) -> list[Cell]:
        """Every trained cell once, in the grid's order."""
        return [cell for block in self.grid for cell in block_cells(block)]

    def base_cells(self) -> list[Cell]:
        """The untrained model of each model of the grid."""
        return [Cell(model, BASE_VARIANT, 0) for model in self.models]

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
        return training.model_copy(update=changed)

    def training_seed(self, cell: Cell) -> int:
        """From which all random numbers of a cell's training are derived: its seed, or of a replica above 0 another."""
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
            "model": self._model(cell.model, exclude=_NOT_OF_THE_TRAINING),
            "method": {"name": cell.variant, **self.methods[cell.variant].settings()},
            "training": self.training_of(cell.model, cell.variant).dump(),
            "data": self._train_data(),
            "grading": self.grading.dump(),  # the rewards come from the same grader
            "numerics": self.numerics,
        }

    def compare(self, first: str, second: str) -> Comparison:
        """What the trainings of two variants differ in beside their names, on one model with one seed."""
        cell = self.cells()[0]
        found = compare(*(self.resolve(Cell(cell.model, variant, cell.seed)) for variant in (first, second)))
        return found._replace(different=[d for d in found.different if d.key != "method.name"])

    def arms(self) -> dict[str, dict[str, Any]]:
        """Each variant beside the one that it varies, as JSON-able values.

        A variant that declares none, or one that the study does not train, stands beside the first baseline.

        Returns:
            variant -> `of`; `factor`, null where none is declared; `different`, each key with its value in `of` and in
            the variant; `equal`, the number of all other keys. The first baseline has no entry unless it declares one.
        """
        found: dict[str, dict[str, Any]] = {}
        for variant, method in self.methods.items():
            declared = method.ablation if method.ablation and method.ablation.of in self.methods else None
            of, factor = (declared.of, declared.factor) if declared else (self.baselines[0], None)
            if of != variant:
                different, equal = self.compare(of, variant)
                found[variant] = {"of": of, "factor": factor, "different": [*map(list, different)], "equal": equal}
        return found

    def stage_config(self, stage: Stage, cell: Cell | None = None) -> dict[str, Any]:
        """All that determines one stage's outputs beside its input files, as JSON-able values.

        Args:
            stage: `train` and `generate` need a cell; `base` needs a cell of the model.
            cell: a trained cell, or for `base` and `generate` one of :meth:`base_cells`.
        """
        if stage in ("train", "generate", "base"):
            if cell is None:
                raise ValueError(f"stage {stage} needs a cell")
            if stage == "train":
                return self.resolve(cell)
            if stage == "base":
                return {
                    "model": self._model(cell.model, exclude=_NOT_OF_THE_WEIGHTS),
                    **self._pretrained_by(cell.model),
                }
            return {
                "seed": cell.seed,
                "model": self._model(cell.model, include={"dtype", "prompt"}),
                "evaluation": self.evaluation.dump(),
                "benchmarks": list(self.benchmarks),
                "numerics": self.numerics,
            }
        if stage == "train_data":  # the evaluation problems, which no training problem may be, are its input
            return self._train_data()
        if stage == "eval_data":
            return {
                "seed": self.data.seed,
                "benchmarks": {name: benchmark.dump() for name, benchmark in self.benchmarks.items()},
            }
        if stage == "grade":
            return self.grading.dump()
        if stage == "shadow":
            rules = {v: [m.selector, {k: str(x) for k, x in m.parameters().items()}] for v, m in self.methods.items()}
            return {"rules": rules, "baseline": self.baselines[0]}
        if stage != "evidence":  # which shows what was run, so reads everything
            raise ValueError(f"there is no stage {stage!r}")
        return {
            "study": self.name,
            "note": self.note,
            "scale": self.scale,
            "models": {name: model.dump() for name, model in self.models.items()},
            "methods": {name: method.dump() for name, method in self.methods.items()},
            "arms": self.arms(),
            "benchmarks": [b.dump() | {"problems": b.drawn} for b in self.benchmarks.values()],  # their order counts
            "data": self.data.dump(),
            "train_sets": [train_set.dump() for train_set in self.train_sets.values()],
            "training": self.training.dump(),
            "evaluation": self.evaluation.dump(),
            "grading": self.grading.dump(),
            "evidence": self.evidence.dump(),
            "numerics": self.numerics,
            "grid": [block.dump() for block in self.grid],
            "baselines": list(self.baselines),
            "shown": self.shared_methods(),
        }

    def _model(self, name: str, **fields: Any) -> dict[str, Any]:
        """A model's name and some of what its file states, chosen as by `model_dump`."""
        return {"name": name, **self.models[name].model_dump(mode="json", **fields)}

    def _pretrained_by(self, model: str) -> dict[str, Any]:
        """The numerics of a model that is made here; a fetched one's bytes do not depend on any."""
        return {"numerics": self.numerics} if isinstance(self.models[model], ScratchModel) else {}

    def _train_data(self) -> dict[str, Any]:
        """Where rows are read from is no part of it: hub and mirror give the same."""
        generated = {"seed": self.data.seed, "train_problems": self.data.train_problems}
        sets = {name: train_set.dump() for name, train_set in self.train_sets.items()}
        return {**generated, "train_sets": sets} if sets else generated
