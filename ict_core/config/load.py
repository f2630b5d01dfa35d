"""Puts a study together from its files, or tells everything that is wrong with them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ict_core.config.benchmarks import Benchmark, GeneratedBenchmark
from ict_core.config.checks import (
    check_ablations,
    check_benchmark,
    check_data,
    check_evaluation,
    check_grid,
    check_method,
    check_model,
    check_published,
    check_training,
    check_warmups,
    named_as_its_file,
)
from ict_core.config.methods import Method, method_schema
from ict_core.config.mistakes import Mistakes, closest
from ict_core.config.models import Model
from ict_core.config.published import TrainingSet
from ict_core.config.study import BASE_VARIANT, Study, StudyFile
from ict_core.config.training import Training
from ict_core.config.yaml_file import read_section
from ict_core.errors import UserError
from ict_core.process.numerics import Numerics


class _Folder:
    """The files of one kind, `configs/<kind>/<name>.yaml`, each read once."""

    def __init__(self, configs: Path, kind: str, schema: Any, mistakes: Mistakes) -> None:
        self.kind, self._schema, self._mistakes = kind, schema, mistakes
        self.files = {file.stem: file for file in sorted((configs / kind).glob("*.yaml"))}
        self.found: dict[str, Any] = {}

    def read(self, name: str, asker: Path, key: str) -> None:
        """Read the file of a name that `asker` uses under `key`; note a problem if there is none."""
        if name not in self.files:
            hint = closest(name, self.files)
            self._mistakes.add(asker, key, f"{name!r} names no file in configs/{self.kind}; {hint}")
        elif name not in self.found:
            self.found[name] = read_section(self.files[name], self._schema, self._mistakes)

    def good(self) -> dict[str, Any]:
        """What was read without a problem."""
        return {name: section for name, section in self.found.items() if section is not None}


def load_study(path: Path) -> Study:
    """Read and check a study and every file that it names, in the `configs` folder in which it stands.

    Args:
        path: `configs/studies/<study>.yaml`.

    Raises:
        UserError: something is wrong; one line a problem, with file, key, value and what is allowed.
    """
    mistakes = Mistakes()
    file: StudyFile | None = read_section(path, StudyFile, mistakes)
    if file is None:
        mistakes.raise_if_any()
        raise AssertionError("a file that was not read has a problem")
    named_as_its_file(path, "study", path.stem, file.study, mistakes)
    configs = path.resolve().parent.parent
    trainings = _Folder(configs, "training", Training, mistakes)
    models = _Folder(configs, "models", Model, mistakes)
    methods = _Folder(configs, "methods", method_schema(), mistakes)
    benchmarks = _Folder(configs, "benchmarks", Benchmark, mistakes)
    train_sets = _Folder(configs, "data", TrainingSet, mistakes)
    _read_named(path, file, trainings, models, methods, benchmarks, mistakes)
    for index, name in enumerate(file.data.train_sets or ()):
        train_sets.read(name, path, f"data.train_sets[{index}]")
    check_evaluation(path, file, mistakes)
    check_grid(path, file, mistakes)
    for variant, method in methods.good().items():
        if method.ablation is not None:
            methods.read(method.ablation.of, methods.files[variant], "ablation.of")
    warmup = file.selection_warmup_steps
    resolved_methods = {variant: _with_warmup(method, warmup) for variant, method in methods.good().items()}
    check_warmups(path, resolved_methods, mistakes)
    check_ablations(methods.files, resolved_methods, mistakes)
    for name, training in trainings.good().items():
        check_training(trainings.files[name], training, mistakes)
        for variant, method in resolved_methods.items():
            check_method(methods.files[variant], method, training, name, mistakes)
        for model_name, model in models.good().items():
            check_model(models.files[model_name], model, training, name, mistakes)
    for name, benchmark in benchmarks.good().items():
        check_benchmark(benchmarks.files[name], name, benchmark, mistakes)
    for name, train_set in train_sets.good().items():
        check_published(train_sets.files[name], name, train_set, mistakes)
    check_data(path, file.data, train_sets.good(), mistakes)
    mistakes.raise_if_any()
    return Study(
        name=file.study,
        training=trainings.found[file.training],
        models=models.found,
        methods={variant: resolved_methods[variant] for variant in _trained(file)},
        benchmarks={
            name: _with_problems(benchmark, file.data.problems_per_benchmark)
            for name, benchmark in benchmarks.found.items()
        },
        train_sets=train_sets.found,
        numerics=file.numerics or _default_numerics(models.found.values()),
        trackers=file.trackers,
        **{
            key: getattr(file, key)
            for key in ("note", "scale", "data", "evaluation", "grading", "evidence", "grid", "baselines", "shown")
        },
    )


def load_methods(folder: Path) -> dict[str, Method]:
    """Every variant of a folder of methods by name, in the order of the names.

    Args:
        folder: `configs/methods`.

    Raises:
        UserError: there is no such folder or none in it; or something is wrong with one, one line a problem.
    """
    mistakes = Mistakes()
    methods = _Folder(folder.parent, folder.name, method_schema(), mistakes)
    if not methods.files:
        raise UserError(f"{folder}: no methods; allowed: a folder of files like configs/methods/ict-10.yaml")
    for name in sorted(methods.files):
        methods.read(name, folder, "")
    mistakes.raise_if_any()
    return methods.good()


def load_model(path: Path) -> Model:
    """Read and check one model's file, `configs/models/<model>.yaml`.

    Raises:
        UserError: something is wrong with it; one line a problem.
    """
    mistakes = Mistakes()
    model: Model | None = read_section(path, Model, mistakes)
    mistakes.raise_if_any()
    assert model is not None
    return model


def _with_problems(benchmark: Benchmark, override: int | None) -> Benchmark:
    """The benchmark with another number of problems; a published one has no more than its rows."""
    if override is None:
        return benchmark
    number = override if isinstance(benchmark, GeneratedBenchmark) else min(override, benchmark.rows)
    return benchmark.model_copy(update={"problems": number})


def _default_numerics(models: Iterable[Model]) -> Numerics:
    """Portable on the CPU; native where a model states GPUs, whose kernels no variable holds."""
    return "native" if any(model.hardware is not None for model in models) else "portable"


def _trained(file: StudyFile) -> list[str]:
    """The variants of the grid, each once."""
    return list(dict.fromkeys(variant for block in file.grid for variant in block.methods))


def _with_warmup(method: Method, steps: int | None) -> Method:
    """The method with the study's warm-up, if it has one and does not say how long."""
    if method.warmup_steps is not None:
        return method
    return method.model_copy(update={"warmup_steps": steps})


def _read_named(
    path: Path,
    file: StudyFile,
    trainings: _Folder,
    models: _Folder,
    methods: _Folder,
    benchmarks: _Folder,
    mistakes: Mistakes,
) -> None:
    trainings.read(file.training, path, "training")
    for index, name in enumerate(file.benchmarks):
        benchmarks.read(name, path, f"benchmarks[{index}]")
    for number, block in enumerate(file.grid):
        for index, name in enumerate(block.models):
            models.read(name, path, f"grid[{number}].models[{index}]")
        for index, name in enumerate(block.methods):
            key = f"grid[{number}].methods[{index}]"
            if name == BASE_VARIANT:
                mistakes.refuse(path, key, name, "any name but the untrained model's")
            else:
                methods.read(name, path, key)
