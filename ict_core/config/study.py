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

MOST_SHOWN = 16  # lines in one figure
_NO_DIFFERENCE = {"method.name", "tuning.variant"}  # a replica has the rate of its method, and so the same training


@dataclass(frozen=True)
class Study:
    """A study whose names are resolved and whose values are checked; its mappings keep the study's order."""

    name: str  # the folder under `results`
    note: str  # a sentence that every table shows
    scale: str  # `mini` results say nothing about the paper's scale
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
    baselines: tuple[str, ...]  # the variants with which all others are compared
    tuning: Tuning | None  # how the study chooses every variant's learning rate
    rates_of: StoredRates | None  # or the stored rates; without both all train at the recipe's rate
    token_study: TokenStudy  # how the rules are compared on the untrained models' tokens
    numerics: Numerics  # which instructions the numerical libraries use
    learning_curve: LearningCurve | None  # accuracy on held-out problems during training
    rollouts_mib: int | None  # the limit for each training if all rollouts are kept
    trackers: tuple[Tracker, ...]  # trackers that trainings report to; no result depends on them
    shown: tuple[str, ...] | None  # variants with a line in every figure; None: those that every model runs
    beside: tuple[str, ...]  # stored studies whose verdicts are shown beside this one's
    tuned: Mapping[tuple[str, str], float] = field(default_factory=dict)  # the rate chosen, by model and variant

    def cells(self) -> list[Cell]:
        """Every cell of the grid once, in its order; trained and evaluated, at its own rate if there is a tuning."""
        return [cell for block in self.grid for cell in block.cells()]

    def shared_rate_cells(self) -> list[Cell]:
        """Every cell of the grid at the recipe's rate, with `tuning.shared_rate`; trained and evaluated too."""
        return [twin for cell in self.cells() for twin in self.twins(cell)]

    def twins(self, cell: Cell) -> list[Cell]:
        """The same cell at the recipe's learning rate, if the study trains it; otherwise an empty list."""
        has_twin = self.tuning is not None and self.tuning.shared_rate and self.at_own_rate(cell)
        return [cell._replace(variant=at_rate(cell.variant, self.training.learning_rate))] if has_twin else []

    def tuning_cells(self) -> list[Cell]:
        """The trainings of the first tuning round, by which every variant's rate is chosen."""
        return [cell for arm in self.tuned_arms() for cell in trials(*arm, self.tuning.first() if self.tuning else ())]

    def later_cells(self) -> list[Cell]:
        """The trainings that a later tuning round may ask for."""
        return [cell for arm in self.tuned_arms() for cell in trials(*arm, self.tuning.later() if self.tuning else ())]

    def later_in_words(self) -> str:
        """How many :meth:`later_cells` there may be, and why, in words; empty if none."""
        return self.tuning.more(len(self.tuned_arms())) if self.tuning else ""

    def tuned_arms(self) -> list[tuple[str, str]]:
        """The (model, variant) pairs whose learning rate the study chooses."""
        return self.rated_arms() if self.tuning else []

    def rated_arms(self) -> list[tuple[str, str]]:
        """The (model, variant) pairs that have their own learning rate."""
        return list(dict.fromkeys((cell.model, self.tuned_as(cell.model, cell.variant)) for cell in self.cells()))

    def tuned_as(self, model: str, variant: str) -> str:
        """The variant whose tuning gives a variant its rate.

        A replica has the rate of the method that it trains again. With the rates of a stored study, every variant that
        was not tuned there has the rate of the method that it varies.
        """
        varied = {name: m.ablation for name, m in self.methods.items() if m.ablation and m.ablation.of in self.methods}
        if self.rates_of is not None:
            return tuned_as(variant, varied, self.rates_of.tuned(model))
        replicas = {name for name, variation in varied.items() if variation.factor == "replica"}
        return tuned_as(variant, varied, self.methods.keys() - replicas)

    def trained_cells(self) -> list[Cell]:
        """Every cell that is trained, except :meth:`later_cells`."""
        return [*self.cells(), *self.shared_rate_cells(), *self.tuning_cells()]

    def at_own_rate(self, cell: Cell) -> bool:
        """Whether a cell trains at a rate that was chosen for its variant, here or by a stored study."""
        chosen = self.tuning or self.rates_of
        return chosen is not None and cell.variant != BASE_VARIANT and rate_of(cell.variant)[1] is None

    def is_tuned(self, cell: Cell) -> bool:
        """Whether a cell trains at a rate that the study itself chooses."""
        return self.tuning is not None and self.at_own_rate(cell)

    def rate_file(self, files: StudyFiles, cell: Cell) -> Path:
        """The file with the chosen rate of a cell for which :meth:`is_tuned` is true."""
        return files.chosen_rate(cell.model, self.tuned_as(cell.model, cell.variant))

    def with_rate(self, cell: Cell, rate: float) -> "Study":
        """The study with the learning rate that was chosen for a cell's variant."""
        return replace(self, tuned={**self.tuned, (cell.model, self.tuned_as(cell.model, cell.variant)): rate})

    def tuned_config(self, model: str, variant: str) -> dict[str, Any]:
        """Everything that determines the trainings by which a variant's rate is chosen, without rates and seeds."""
        plain = replace(self, tuning=None, rates_of=None, learning_curve=None, rollouts_mib=None)
        resolved = plain.resolve(Cell(model, at_rate(variant, self.training.learning_rate), 0))
        del resolved["seed"], resolved["method"]["name"], resolved["training"]["learning_rate"]
        return resolved

    def method_of(self, variant: str) -> Method:
        """The method of a variant of the grid, at whatever rate."""
        return self.methods[rate_of(variant)[0]]

    def base_of(self, cell: Cell) -> Cell:
        """The untrained model that a cell's training starts from, the same for all variants; its seed is its number."""
        if cell.variant == BASE_VARIANT:
            return cell
        return Cell(cell.model, BASE_VARIANT, base_number(cell.seed, self.models[cell.model].kind))

    @property
    def seeds_per_base(self) -> int | None:
        """1 if each seed has its own base model, else None. Stored study.json and rates.json files state it."""
        return 1 if all(isinstance(model, ScratchModel) for model in self.models.values()) else None

    def base_cells(self, of: Iterable[Cell] | None = None) -> list[Cell]:
        """The untrained models that the trainings of these cells start from, by default for all cells of the grid.

        The models are in the study's order.
        """
        order = list(self.models)
        bases = {self.base_of(cell) for cell in (self.cells() if of is None else of)}
        return sorted(bases, key=lambda base: (order.index(base.model), base))

    def first_base(self, model: str) -> Cell:
        """The base model with the lowest number; it stands for the model's untrained state."""
        return next(base for base in self.all_bases() if base.model == model)

    def cells_read(self) -> list[Cell]:
        """The cells that `snakemake readings` reads: untrained models (seed 0), the first of `token_study.trained`."""
        variants = self.token_study.trained or ()
        first = {cell[:2]: cell for cell in reversed(self.cells()) if cell.variant in variants}
        return [*(Cell(model, BASE_VARIANT, 0) for model in self.models), *reversed(first.values())]

    def all_bases(self) -> list[Cell]:
        """The untrained models that any training starts from."""
        return self.base_cells([*self.trained_cells(), *self.later_cells()])

    def base_model(self, base: Cell) -> Model:
        """The model of one of :meth:`base_cells`; if the study pretrains it, with the seed of that base model."""
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
        """The set of :meth:`evaluated_cells`, for look-ups."""
        return frozenset(self.evaluated_cells())

    def answers(self) -> int:
        """How many answers one cell gives to all benchmarks."""
        return sum(benchmark.drawn * self.evaluation.samples_for(name) for name, benchmark in self.benchmarks.items())

    def training_of(self, model: str, variant: str | None = None) -> Training:
        """The recipe as a model's hardware runs it, with other micro-batches only, and with the changes of a variant.

        A variant may have its own batch, and its own group size with as many rollouts per step. The learning rate is
        the one in the variant's name, else the one that was chosen for the variant, else the recipe's.
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
        """The recipe of one cell: :meth:`training_of`, with fewer steps if the training is part of the tuning."""
        training = self.training_of(cell.model, cell.variant)
        if self.tuning and self.tuning.steps and cell.seed in self.tuning.seeds:
            return training.changed(steps=self.tuning.steps)
        return training

    def recorded(self, cell: Cell) -> dict[str, Any]:
        """What an evaluated cell's training records besides its log, as JSON-able values; empty if nothing.

        ``learning_curve`` has the settings of the curve; ``keep_rollouts`` is true where rollouts are kept.
        """
        if self.tuning and cell.seed in self.tuning.seeds:
            return {}
        curve = {"learning_curve": self.learning_curve.dump()} if self.learning_curve else {}
        return curve | ({"keep_rollouts": True} if self.rollouts_mib else {})

    def training_problems(self, files: StudyFiles, cell: Cell) -> Path:
        """The file of the problems from which a cell's training draws its prompts."""
        base = self.base_of(cell)
        return files.within_reach(*base[::2]) if self.data.within_reach else files.train_problems

    def shared_methods(self) -> list[str]:
        """The variants in the main figures: those that the study names, else those that every model runs.

        Of more than :data:`MOST_SHOWN` of these it is the first that are no controls.
        """
        if self.shown is not None:
            return list(self.shown)
        ran = {(cell.model, cell.variant) for cell in self.cells()}
        every = [variant for variant in self.methods if all((model, variant) in ran for model in self.models)]
        if len(every) > MOST_SHOWN:
            every = [variant for variant in every if self.methods[variant].control is None][:MOST_SHOWN]
        return every

    def resolve(self, cell: Cell) -> dict[str, Any]:
        """Everything but input files that determines one cell's training, as JSON-able values.

        Two cells of one model differ only in `method`, in `seed` with the seed of its base model, and in what a variant
        or its tuning changes in the recipe. The evaluation is not in it, so that a change there retrains nothing. A
        learning rate that is not yet chosen is None.
        """
        training, rates = self.training_for(cell).dump(), {}
        rated = self.tuned_as(cell.model, rate_of(cell.variant)[0])
        if self.at_own_rate(cell) and self.rates_of:
            rates = {"rates_of": self.rates_of.stated()}
        elif self.at_own_rate(cell) and self.tuning:
            rates = {"tuning": self.tuning.dump() | ({"variant": rated} if rated != cell.variant else {})}
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
            **rates,
            **self.recorded(cell),
        }

    def compare(self, first: str, second: str) -> Comparison:
        """The differences between the trainings of two variants, except their names, on one model with one seed.

        The model is the first one that runs both, else the first that runs the second.
        """
        cells = self.cells()
        ran = {cell[:2] for cell in cells}
        model = max(self.models, key=lambda model: ((model, second) in ran, (model, first) in ran))
        plain = replace(self, rates_of=None, tuned={})
        left, right = (plain.resolve(Cell(model, variant, cells[0].seed)) for variant in (first, second))
        different, equal = compare(left, right)
        return Comparison([pair for pair in different if pair[0] not in _NO_DIFFERENCE], equal)

    def arms(self) -> dict[str, dict[str, Any]]:
        """Each variant compared with the one that it varies (`of`), as JSON-able values.

        A variant that declares none, or one that the study does not train, is compared with the first baseline, with a
        null `factor`. The first baseline has no entry unless it declares one. The rest is as in :class:`Comparison`.
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
        """Everything but input files that determines one stage's outputs, by :mod:`ict_core.config.stage_configs`."""
        return stage_config(self, stage, cell)


def trials(model: str, variant: str, tried: Iterable[Trial]) -> list[Cell]:
    """The cells of the trainings that tune a variant."""
    return [Cell(model, at_rate(variant, rate), seed) for rate, seed in tried]
