"""The :class:`Study` that `configs/studies/<study>.yaml` resolves to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ict_core.config.comparison import Comparison, compare
from ict_core.config.inputs import Benchmark, Model, ScratchModel, TrainingSet
from ict_core.config.methods import Method, Training
from ict_core.config.stage_configs import NOT_OF_THE_TRAINING, reach, stage_config, stated, train_data
from ict_core.config.study_file import (
    Block,
    Cell,
    Data,
    Evaluation,
    EvidenceBounds,
    Grading,
    LearningCurve,
    TokenStudy,
    Tracker,
)
from ict_core.config.tuning import StoredRates, Trial, Tuning, at_rate, rate_of, tuned_as
from ict_core.process.numerics import Numerics
from ict_core.seeding import derive_seed
from ict_core.store.layout import BASE_VARIANT, StudyFiles, base_number

_NO_DIFFERENCE = {"method.name", "tuning.variant"}  # a replica has the rate of its method, and so the same training


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
    tuning: Tuning | None  # by which the study chooses every variant's learning rate
    rates_of: StoredRates | None  # or a stored study that chose them; None of both: all train at the recipe's rate
    token_study: TokenStudy  # of the untrained models' tokens
    numerics: Numerics  # what the CPU's libraries are held to
    learning_curve: LearningCurve | None  # accuracy on held-out problems during training
    rollouts_mib: int | None  # all training rollouts are kept, at most so much a training
    trackers: tuple[Tracker, ...]  # that trainings report to; no result depends on them
    shown: tuple[str, ...] | None  # variants with a line in every figure; None: those that every model runs
    beside: tuple[str, ...]  # stored studies whose verdicts stand beside this one's
    tuned: Mapping[tuple[str, str], float] = field(default_factory=dict)  # the rate chosen, by model and variant

    def cells(self) -> list[Cell]:
        """Every cell of the grid once, in its order: trained and evaluated, at its own rate where there is a tuning."""
        return [cell for block in self.grid for cell in block.cells()]

    def shared_rate_cells(self) -> list[Cell]:
        """With `tuning.shared_rate` each cell of the grid at the recipe's rate: trained and evaluated."""
        return [twin for cell in self.cells() for twin in self.twins(cell)]

    def twins(self, cell: Cell) -> list[Cell]:
        """Of a cell at a rate of its own the one at the recipe's, if the study has it; else nothing."""
        wanted = self.tuning is not None and self.tuning.shared_rate and self.at_own_rate(cell)
        return [cell._replace(variant=at_rate(cell.variant, self.training.learning_rate))] if wanted else []

    def tuning_cells(self) -> list[Cell]:
        """The trainings that every variant's rate is chosen by, those of the first round."""
        return [cell for arm in self.tuned_arms() for cell in trials(*arm, self.tuning.first() if self.tuning else ())]

    def later_cells(self) -> list[Cell]:
        """Those that a later round may ask for."""
        return [cell for arm in self.tuned_arms() for cell in trials(*arm, self.tuning.later() if self.tuning else ())]

    def later_in_words(self) -> str:
        """How many of these there may be, and why; empty if none."""
        return self.tuning.more(len(self.tuned_arms())) if self.tuning else ""

    def tuned_arms(self) -> list[tuple[str, str]]:
        """The (model, variant) whose learning rate the study chooses."""
        return self.rated_arms() if self.tuning else []

    def rated_arms(self) -> list[tuple[str, str]]:
        """The (model, variant) that have a learning rate of their own."""
        return list(dict.fromkeys((cell.model, self.tuned_as(cell.model, cell.variant)) for cell in self.cells()))

    def tuned_as(self, model: str, variant: str) -> str:
        """The variant whose tuning gives a variant its rate.

        A replica has the rate of the method that it trains again; with the rates of a stored study every variant that
        was not tuned there has that of the method which it varies.
        """
        varied = {name: m.ablation for name, m in self.methods.items() if m.ablation and m.ablation.of in self.methods}
        if self.rates_of is not None:
            return tuned_as(variant, varied, self.rates_of.tuned(model))
        replicas = {name for name, variation in varied.items() if variation.factor == "replica"}
        return tuned_as(variant, varied, self.methods.keys() - replicas)

    def trained_cells(self) -> list[Cell]:
        """Every cell that is trained, but for :meth:`later_cells`."""
        return [*self.cells(), *self.shared_rate_cells(), *self.tuning_cells()]

    def at_own_rate(self, cell: Cell) -> bool:
        """Whether a cell trains at a rate that was chosen for its variant, here or by a stored study."""
        chosen = self.tuning or self.rates_of
        return chosen is not None and cell.variant != BASE_VARIANT and rate_of(cell.variant)[1] is None

    def is_tuned(self, cell: Cell) -> bool:
        """Whether a cell trains at a rate that the study itself chooses."""
        return self.tuning is not None and self.at_own_rate(cell)

    def rate_file(self, files: StudyFiles, cell: Cell) -> Path:
        """Where the rate of a cell that :meth:`is_tuned` is written."""
        return files.chosen_rate(cell.model, self.tuned_as(cell.model, cell.variant))

    def with_rate(self, cell: Cell, rate: float) -> "Study":
        """The study with the learning rate that was chosen for a cell's variant."""
        return replace(self, tuned={**self.tuned, (cell.model, self.tuned_as(cell.model, cell.variant)): rate})

    def tuned_config(self, model: str, variant: str) -> dict[str, Any]:
        """All that determines the trainings by which a variant's rate is chosen, but their rates and seeds."""
        plain = replace(self, rates_of=None, learning_curve=None, rollouts_mib=None)
        resolved = plain.resolve(Cell(model, at_rate(variant, self.training.learning_rate), 0))
        del resolved["seed"], resolved["method"]["name"], resolved["training"]["learning_rate"]
        return resolved

    def method_of(self, variant: str) -> Method:
        """The method of a variant of the grid, at whatever rate."""
        return self.methods[rate_of(variant)[0]]

    def base_of(self, cell: Cell) -> Cell:
        """The untrained model that a cell's training begins with, the same for every variant; its seed is a number."""
        if cell.variant == BASE_VARIANT:
            return cell
        return Cell(cell.model, BASE_VARIANT, base_number(cell.seed, self.models[cell.model].kind))

    @property
    def seeds_per_base(self) -> int | None:
        """As study.json and rates.json state it, whose bytes stay: 1 where each seed has its base model, else None."""
        return 1 if all(isinstance(model, ScratchModel) for model in self.models.values()) else None

    def base_cells(self, of: Iterable[Cell] | None = None) -> list[Cell]:
        """The untrained models that the trainings of these cells begin with, by default those of the grid.

        Models stand in the study's order.
        """
        order = list(self.models)
        bases = {self.base_of(cell) for cell in (self.cells() if of is None else of)}
        return sorted(bases, key=lambda base: (order.index(base.model), base))

    def first_base(self, model: str) -> Cell:
        """The base model of the lowest number: what is asked of a model's untrained state is asked of it."""
        return next(base for base in self.all_bases() if base.model == model)

    def cells_read(self) -> list[Cell]:
        """Whose tokens `snakemake readings` reads: each model untrained (seed 0), and as `token_study.trained` says."""
        asked = self.token_study.trained or ()
        first = {cell[:2]: cell for cell in reversed(self.cells()) if cell.variant in asked}
        return [*(Cell(model, BASE_VARIANT, 0) for model in self.models), *reversed(first.values())]

    def all_bases(self) -> list[Cell]:
        """The untrained models that any training begins with."""
        return self.base_cells([*self.trained_cells(), *self.later_cells()])

    def base_model(self, base: Cell) -> Model:
        """The model of one of :meth:`base_cells`: where it is pretrained, with the seed of that base model."""
        model = self.models[base.model]
        if base.seed == 0 or not isinstance(model, ScratchModel):
            return model
        seed = derive_seed(model.pretraining.seed, "base model", base.seed)
        return model.changed(pretraining=model.pretraining.changed(seed=seed))

    def evaluated_cells(self) -> list[Cell]:
        """Every cell that answers the benchmarks: the base models first, then the trained ones."""
        return [*self.base_cells(), *self.cells(), *self.shared_rate_cells()]

    @cached_property
    def evaluated(self) -> frozenset[Cell]:
        """:meth:`evaluated_cells`, to look a cell up."""
        return frozenset(self.evaluated_cells())

    def answers(self) -> int:
        """How many answers one cell gives to all benchmarks."""
        return sum(benchmark.drawn * self.evaluation.samples_for(name) for name, benchmark in self.benchmarks.items())

    def training_of(self, model: str, variant: str | None = None) -> Training:
        """The recipe as a model's hardware runs it: one recipe for all, but for the micro-batches.

        A variant may have a batch of its own, or a group size, with as many rollouts a step. The learning
        rate is that of a variant's name, else that which was chosen for it, else the recipe's.
        """
        training, hardware = self.training, self.models[model].hardware
        if hardware is not None:
            training = training.changed(micro_batch_sequences=hardware.micro_batch_sequences)
        if variant is None:
            return training
        name, rate = rate_of(variant)
        if rate := rate or self.tuned.get((model, self.tuned_as(model, name))):
            training = training.changed(learning_rate=rate)
        return self.methods[name].recipe(training)

    def training_for(self, cell: Cell) -> Training:
        """The recipe of one cell: :meth:`training_of`, and the fewer steps of a training that tunes."""
        training = self.training_of(cell.model, cell.variant)
        if self.tuning and self.tuning.steps and cell.seed in self.tuning.seeds:
            return training.changed(steps=self.tuning.steps)
        return training

    def recorded(self, cell: Cell) -> dict[str, Any]:
        """What an evaluated cell's training leaves beside its log, as JSON-able values; empty where nothing is asked.

        ``learning_curve``: how it is made; ``keep_rollouts``.
        """
        if self.tuning and cell.seed in self.tuning.seeds:
            return {}
        curve = {"learning_curve": self.learning_curve.dump()} if self.learning_curve else {}
        return curve | ({"keep_rollouts": True} if self.rollouts_mib else {})

    def training_problems(self, files: StudyFiles, cell: Cell) -> Path:
        """The problems that a cell's training draws its prompts from."""
        base = self.base_of(cell)
        return files.within_reach(*base[::2]) if self.data.within_reach else files.train_problems

    def shared_methods(self) -> list[str]:
        """What the main figures show: the variants that the study names, else those that every model runs."""
        if self.shown is not None:
            return list(self.shown)
        ran = {(cell.model, cell.variant) for cell in self.cells()}
        return [variant for variant in self.methods if all((model, variant) in ran for model in self.models)]

    def resolve(self, cell: Cell) -> dict[str, Any]:
        """All that determines one cell's training beside its input files, as JSON-able values.

        Two cells of one model differ in `method` and `seed` only, and where a variant's factor is the group size in
        this. Nothing of the evaluation is in it, so that a change there retrains nothing. A learning rate that is not
        yet chosen is None.
        """
        training, own = self.training_for(cell).dump(), {}
        rated = self.tuned_as(cell.model, rate_of(cell.variant)[0])
        if self.at_own_rate(cell) and self.rates_of:
            own = {"rates_of": self.rates_of.stated()}
        elif self.at_own_rate(cell) and self.tuning:
            own = {"tuning": self.tuning.dump() | ({"variant": rated} if rated != cell.variant else {})}
            if (cell.model, rated) not in self.tuned:
                training["learning_rate"] = None  # known once it is chosen
        return {
            "seed": cell.seed,
            "model": stated(cell.model, self.base_model(self.base_of(cell)), exclude=NOT_OF_THE_TRAINING),
            "method": {"name": cell.variant, **self.method_of(cell.variant).settings()},
            "training": training,
            "data": train_data(self) | (reach(self) if self.data.within_reach else {}),
            "grading": self.grading.dump(),  # the rewards come from the same grader
            "numerics": self.numerics,
            **own,
            **self.recorded(cell),
        }

    def compare(self, first: str, second: str) -> Comparison:
        """What the trainings of two variants differ in beside their names, on one model with one seed."""
        cell = self.cells()[0]
        plain = replace(self, rates_of=None, tuned={})
        one, other = (plain.resolve(Cell(cell.model, variant, cell.seed)) for variant in (first, second))
        different, equal = compare(one, other)
        return Comparison([pair for pair in different if pair[0] not in _NO_DIFFERENCE], equal)

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

    def stage_config(self, stage: str, cell: Cell | None = None) -> dict[str, Any]:
        """All that determines one stage's outputs beside its input files, as :func:`stage_config` of the study."""
        return stage_config(self, stage, cell)


def trials(model: str, variant: str, tried: Iterable[Trial]) -> list[Cell]:
    """The cells of trainings that tune a variant."""
    return [Cell(model, at_rate(variant, rate), seed) for rate, seed in tried]
