"""Everything but input files that determines a stage's outputs: the part of the study that its manifest states."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ict_core.config.inputs import Benchmark, Model, ScratchModel, TrainingSet
from ict_core.config.study_file import Cell

if TYPE_CHECKING:
    from ict_core.config.study import Study

# keys of a model's file that do not determine its weights, and keys that do not determine its training
_NOT_OF_THE_WEIGHTS = {"allow_unpinned", "dtype", "hardware", "licence", "path", "prompt", "supervised_start"}
_OF_THE_SCHEDULER = {"memory_gib", "train_hours", "generate_hours"}
_REMARKS: dict[str, Any] = {"allow_unpinned": True, "licence": True, "prompt": {"source"}}
NOT_OF_THE_TRAINING = _REMARKS | {"path": True, "hardware": _OF_THE_SCHEDULER}
_NOT_OF_THE_PROBLEMS = _REMARKS | dict.fromkeys(("gated", "mirror_copy", "mirrors", "paper"), True)


def stage_config(study: "Study", stage: str, cell: Cell | None = None) -> dict[str, Any]:
    """Everything but input files that determines one stage's outputs, as JSON-able values.

    Args:
        cell: for `train` a trained cell; for `generate` a trained cell or one of `Study.base_cells`; for `base`,
            `supervised_start` and `within_reach` one of `Study.base_cells`.
    """
    match stage:
        case "train_data":
            return train_data(study)
        case "eval_data":
            return {"seed": study.data.seed, "benchmarks": _problems(study.benchmarks)}
        case "tune":
            return {"rates": study.tuning and study.tuning.dump(), "recipe": study.training.learning_rate}
        case "grade":
            return study.grading.dump()
        case "shadow":
            return {"rules": _rules(study), "baseline": study.baselines[0]}
        case "read_tokens":
            read = {"temperature": study.evaluation.temperature, "passes": study.training.passes}
            return read | {"numerics": study.numerics, "with_advantage": study.token_study.with_advantage}
        case "token_study":
            keys = study.token_study.model_dump(mode="json", exclude={"trained"})  # which `readings` alone reads
            return {"rules": _rules(study), **keys, "seed": study.data.seed}
        case "evidence":
            return _evidence(study)
    assert cell is not None
    match stage:
        case "base":
            model = {"model": stated(cell.model, study.base_model(cell), exclude=_NOT_OF_THE_WEIGHTS)}
            made_here = isinstance(study.models[cell.model], ScratchModel)  # fetched bytes depend on no numerics
            return model | {"numerics": study.numerics} if made_here else model
        case "supervised_start":
            return {
                "model": stated(cell.model, study.models[cell.model], exclude=NOT_OF_THE_TRAINING),
                "training": {key: study.training.dump()[key] for key in ("precision", "threads")},
                "numerics": study.numerics,
            }
        case "within_reach":
            return _within_reach(study, cell)
        case "train":
            return study.resolve(cell)
        case "generate":
            return _generate(study, cell)
    raise KeyError(stage)


def _problems(sets: Mapping[str, Benchmark | TrainingSet]) -> dict[str, Any]:
    """The keys of each set's file that determine its problems."""
    return {name: one.model_dump(mode="json", exclude=_NOT_OF_THE_PROBLEMS) for name, one in sets.items()}


def stated(name: str, model: Model, **fields: Any) -> dict[str, Any]:
    """A model's name and some keys of its file, chosen by the arguments of `model_dump`."""
    return {"name": name, **model.model_dump(mode="json", **fields)}


def train_data(study: "Study") -> dict[str, Any]:
    """The training data, without its origin (hub and mirror give the same) and the evaluation problems (an input)."""
    generated = {"seed": study.data.seed, "train_problems": study.data.train_problems}
    sets = _problems(study.train_sets)
    return {**generated, "train_sets": sets} if sets else generated


def _within_reach(study: "Study", cell: Cell) -> dict[str, Any]:
    sampling = {key: study.training.dump()[key] for key in ("temperature", "max_new_tokens")}
    engine = {key: study.evaluation.dump()[key] for key in ("engine", "threads")}
    sampled = {"evaluation": engine, "benchmarks": None, "training": sampling}
    return _generate(study, cell) | reach(study) | sampled


def reach(study: "Study") -> dict[str, Any]:
    assert study.data.within_reach is not None
    return {"within_reach": study.data.within_reach.dump(), "seed": study.data.seed}


def _generate(study: "Study", cell: Cell) -> dict[str, Any]:
    return {
        "seed": cell.seed,
        "model": stated(cell.model, study.models[cell.model], include={"dtype": True, "prompt": {"template"}}),
        "evaluation": study.evaluation.dump(),
        "benchmarks": list(study.benchmarks),
        "numerics": study.numerics,
    }


def _rules(study: "Study") -> dict[str, Any]:
    return {variant: method.rule() for variant, method in study.methods.items()}


def _evidence(study: "Study") -> dict[str, Any]:
    """The whole study, as the evidence shows what was run, but without the folders and addresses of one machine."""
    training = study.training.dump()
    if training["rollouts"]:
        training["rollouts"]["server"] = None
    return {
        "study": study.name,
        **{key: getattr(study, key) for key in ("note", "scale", "numerics")},
        "training": training,
        **{key: getattr(study, key).dump() for key in ("evaluation", "grading", "evidence")},
        "data": study.data.dump() | {"mirror": None},
        "models": {name: model.model_dump(mode="json", exclude={"path"}) for name, model in study.models.items()},
        "methods": {name: method.dump() for name, method in study.methods.items()},
        "arms": study.arms(),
        "benchmarks": [b.dump() | {"problems": b.drawn} for b in study.benchmarks.values()],  # their order matters
        "train_sets": [train_set.dump() for train_set in study.train_sets.values()],
        "grid": [block.dump() for block in study.grid],
        "baselines": list(study.baselines),
        "seeds_per_base": study.seeds_per_base,
        "beside": list(study.beside),
        "tuning": study.tuning and study.tuning.dump(),
        **({"rates_of": study.rates_of.stated()} if study.rates_of else {}),
        **({"learning_curve": study.learning_curve.dump()} if study.learning_curve else {}),
        "shown": study.shared_methods(),
        **_sources(study),
    }


def _sources(study: "Study") -> dict[str, Any]:
    """In a bench of published rules (rules with a control): the source of each variant. Otherwise empty."""
    controlled = {m.source for m in study.methods.values() if m.control}
    sources = {variant: method.source for variant, method in study.methods.items() if method.source}
    return {"sources": sources} if controlled - {None, "ours"} else {}
