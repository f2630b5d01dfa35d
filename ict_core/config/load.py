"""Builds a study from its files, or reports everything that is wrong with them.

Errors within one section come from its `faults`. This module checks the files against each other.
"""

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ict_core.config.comparison import compare
from ict_core.config.inputs import Benchmark, LocalModel, Model, TrainingSet
from ict_core.config.method_files import read_method
from ict_core.config.methods import Batch, Factor, Method, Training, Variation
from ict_core.config.mistakes import Fault, Mistakes, faults_of, one_of, refused, show_value
from ict_core.config.section import load_section, read_section
from ict_core.config.study import Study
from ict_core.config.study_file import StudyFile, Validity
from ict_core.config.tuning import StoredRates
from ict_core.process.numerics import Numerics
from ict_core.store.layout import BASE_VARIANT, StudyFiles, repository, stored_folder

# of the files in each folder of `configs` that a study names, besides `methods`
_SCHEMAS: dict[str, Any] = {"training": Training, "models": Model, "benchmarks": Benchmark, "data": TrainingSet}


def load_study(path: Path) -> Study:
    """Read and check `configs/studies/<study>.yaml` and every file that it names in this `configs` folder.

    Raises:
        UserError: something is wrong; one line for each problem, with file, key, value and what is allowed.
    """
    file: StudyFile = load_section(path, StudyFile)
    mistakes = Mistakes()
    mistakes.add(path, *_check_name("study", file.study, path.stem))
    read = _read_named(path, file, mistakes)
    models, methods, benchmarks, train_sets = (read[kind] for kind in ("models", "methods", "benchmarks", "data"))
    for variant, method in methods.items():
        if method.warmup is None:
            steps = method.batch.warmup_steps if method.batch else file.selection_warmup_steps
            methods[variant] = method.model_copy(update={"warmup_steps": steps})
    training = read["training"].get(file.training)
    trained = {variant: methods[variant] for variant in file.variants() if variant in methods}
    for variant, method in trained.items():
        mistakes.add(_file(path, "methods", variant), *_check_method(method, methods, training, file))
    for name, model in models.items():
        model_file = _file(path, "models", name)
        if isinstance(model, LocalModel):
            mistakes.add(model_file, *_check_path(model_file, "path", model.path))
        if training is not None:
            mistakes.add(model_file, *_check_model(model, training, file))
        if file.numerics == "deterministic" and model.hardware is None:
            allowed = f"portable, portable-avx512 or native, as {name} states no `hardware` and runs on the CPU"
            mistakes.add(path, refused("numerics", file.numerics, allowed))
    mistakes.add(path, *_check_study(file, training, models, trained, train_sets))
    mistakes.add(path, *_check_path(path, "data.mirror", file.data.mirror))
    for key, arm in file.evidence.validity.arms().items() if file.evidence.validity else ():
        _check_named(mistakes, path, f"evidence.validity.{key}", _file(path, "methods", arm))
    mistakes.add(path, *(_check_gates(file.evidence.validity, trained) if file.evidence.validity else ()))
    stored_rates = _read_rates(file.rates_of, path, mistakes) if file.rates_of else None
    mistakes.raise_if_any()
    if file.job_hours is not None:
        hours = {"train_hours": file.job_hours.train, "generate_hours": file.job_hours.generate}
        for name, model in models.items():
            if model.hardware is not None:
                models[name] = model.changed(hardware=model.hardware.changed(**hours))
    own = file.data.problems_of or {}
    for name, benchmark in benchmarks.items():
        if (rows := getattr(benchmark, "rows", math.inf)) < own.get(name, 0):
            mistakes.add(path, refused(f"data.problems_of.{name}", own[name], f"at most its rows = {rows}"))
        benchmarks[name] = _with_problems(benchmark, own.get(name, file.data.problems_per_benchmark))
    mistakes.raise_if_any()
    numerics: Numerics = "native" if any(model.hardware is not None for model in models.values()) else "portable"
    resolved: dict[str, Any] = {
        "name": file.study,
        "rates_of": stored_rates,
        "training": read["training"][file.training],
        "models": models,
        "methods": trained,
        "benchmarks": benchmarks,
        "train_sets": train_sets,
        "numerics": file.numerics or numerics,
    }
    study = Study(**{key: value for key, value in file if key in Study.__dataclass_fields__} | resolved)
    checks = [_check_recipes(study), _check_recorded(study)]
    checks += [check_rates(study, stored_rates)] if stored_rates else []
    for check in checks:
        mistakes.add(path, *check)
        mistakes.raise_if_any()  # the next one has a meaning only with recipes that are right
    chosen = stored_rates.choices(study.rated_arms()) if stored_rates else []
    return replace(study, tuned={(choice["model"], choice["variant"]): choice["learning_rate"] for choice in chosen})


def load_model(path: Path) -> Model:
    """Read and check one model's file, `configs/models/<model>.yaml`.

    Raises:
        UserError: something is wrong with it; one line for each problem.
    """
    return load_section(path, Model)


def load_benchmark(path: Path, problems: int | None = None) -> Benchmark:
    """Read and check one benchmark's file, `configs/benchmarks/<benchmark>.yaml`; `problems` of it are used.

    Raises:
        UserError: something is wrong with it; one line for each problem.
    """
    return _with_problems(load_section(path, Benchmark), problems)


def _with_problems(benchmark: Benchmark, number: int | None) -> Benchmark:
    """A benchmark with `number` problems, at most the rows that its file states; None: the number in its file."""
    return benchmark if number is None else benchmark.changed(problems=min(number, getattr(benchmark, "rows", number)))


def _read_named(path: Path, file: StudyFile, mistakes: Mistakes) -> dict[str, dict[str, Any]]:
    """The sections in the files that a study names, and in those that its methods vary, by folder and name.

    A file with a problem is left out.
    """
    read: dict[str, dict[str, Any]] = {kind: {} for kind in (*_SCHEMAS, "methods")}
    waiting = [(path, *named) for named in file.names()]
    for asker, kind, key, name in waiting:
        named = _file(path, kind, name)
        if kind == "methods" and name == BASE_VARIANT:
            mistakes.add(asker, refused(key, name, "any name but the untrained model's"))
        elif _check_named(mistakes, asker, key, named) and name not in read[kind]:
            schema = _SCHEMAS.get(kind)
            section = read_section(named, schema, mistakes) if schema else read_method(named, mistakes)
            read[kind][name] = section
            mistakes.add(named, *_check_name("name", getattr(section, "name", name), name))
            if kind == "methods" and section is not None and section.ablation is not None:
                waiting.append((named, kind, "of", section.ablation.of))
    return {kind: {name: part for name, part in parts.items() if part is not None} for kind, parts in read.items()}


def _check_named(mistakes: Mistakes, asker: Path, key: str, named: Path) -> bool:
    """Whether a file of `configs` exists that another file names under a key; note a mistake if it does not."""
    if not named.is_file():
        allowed = one_of(other.stem for other in named.parent.glob("*.yaml"))
        mistakes.add(asker, Fault(key, f"{named.stem!r} names no file in configs/{named.parent.name}; {allowed}"))
    return named.is_file()


def _file(study: Path, kind: str, name: str) -> Path:
    return study.resolve().parent.parent / kind / f"{name}.yaml"


def _check_name(key: str, name: str, stem: str) -> Iterator[Fault]:
    """Check that the name in a file, which other files or results use, is the file's own name."""
    if name != stem:
        yield refused(key, name, f"{stem!r}, as the file is called")


def _check_stored(key: str, file: Path) -> Iterator[Fault]:
    """Check that the stored study that a key names has a file."""
    if not file.is_file():
        names = [other.parent.name for other in file.parents[1].glob(f"*/{file.name}")]
        yield Fault(key, f"{file.parent.name!r}: there is no file {file}; {one_of(names)}")


def _read_rates(name: str, path: Path, mistakes: Mistakes) -> StoredRates | None:
    """The learning rates that a stored study chose; None where a problem was noted."""
    file = StudyFiles(repository(path) / stored_folder(name)).rates
    mistakes.add(path, *_check_stored("rates_of", file))
    return StoredRates.read(name, file) if file.is_file() else None


def check_rates(study: Study, rates: StoredRates) -> Iterator[Fault]:
    """Check that stored rates were chosen for the same trainings, and that no seed tuned there and evaluates here."""
    stored = rates.content
    for model, variant in study.rated_arms():
        arm = stored["arms"].get(f"{model}/{variant}")
        if arm is None:
            arms = ", ".join(stored["arms"])
            yield Fault("rates_of", f"{rates.study!r} has no rate of {model}/{variant}; allowed: a study of {arms}")
            continue
        here = json.loads(json.dumps(study.tuned_config(model, variant)))
        for key, then, now in compare(arm["config"], here).different[:1]:
            text = f"{rates.study!r} chose the rate of {model}/{variant} with {key} {show_value(then)}"
            yield Fault("rates_of", f"{text}, here it is {show_value(now)}; allowed: the same in both")
    for seed in sorted({cell.seed for cell in study.cells()} & set(stored["tuning"]["seeds"])):
        yield Fault("grid", f"seed {seed} tuned in {rates.study!r}; allowed: seeds that did not")


def _check_recipes(study: Study) -> Iterator[Fault]:
    """Check the recipe after the changes by each model's hardware and variant, and that there are enough problems."""
    total, needed = study.data.train_problems or sum(s.drawn for s in study.train_sets.values()), 0
    for model, variant in dict.fromkeys(cell[:2] for cell in study.cells()):
        try:
            recipe = study.training_of(model, variant)
        except ValidationError as error:
            yield from (Fault("grid", f"{model} with {variant}: {': '.join(f)}") for f in faults_of(error, Training))
            continue
        needed = max(needed, recipe.prompts_per_step)
        yield from _check_passes("grid", study.models[model], recipe, f"{model} with {variant}")
    if needed > total:
        yield Fault("data", f"{total} training problems are too few; allowed: at least {needed}, the prompts of a step")


def _check_recorded(study: Study) -> Iterator[Fault]:
    """Check that a learning curve has enough problems and steps for a second point, and that rollouts have room."""
    recipes = [study.training_of(model, variant) for model, variant in dict.fromkeys(c[:2] for c in study.cells())]
    if (curve := study.learning_curve) is not None:
        available = sum(study.benchmarks[name].drawn for name in curve.benchmarks or study.benchmarks)
        steps = min(recipe.steps for recipe in recipes)
        if curve.problems > available:
            yield refused("learning_curve.problems", curve.problems, f"at most the {available} of these benchmarks")
        if curve.every > steps:
            yield refused("learning_curve.every", curve.every, f"at most the {steps} steps of a training")
    needed = max(math.ceil(recipe.rollout_bytes / 2**20) for recipe in recipes)
    if study.rollouts_mib is not None and study.rollouts_mib < needed:
        allowed = f"at least {needed}, what the longest rollouts of a training take"
        yield refused("rollouts_mib", study.rollouts_mib, allowed)


def _check_study(
    file: StudyFile,
    recipe: Training | None,
    models: Mapping[str, Model],
    methods: Mapping[str, Method],
    train_sets: Mapping[str, TrainingSet],
) -> Iterator[Fault]:
    """Check the study's own file against the files that it names and that have no problem themselves."""
    without = [variant for variant, method in methods.items() if method.warmup is None]
    if without:
        text = f"missing, and {', '.join(without)} state no warmup_steps; allowed: a whole number >= 0 here or there"
        yield Fault("selection_warmup_steps", text)
    names = file.data.train_sets or ()
    starting = {name: model.supervised_start for name, model in models.items() if model.supervised_start}
    if starting and not names:  # a generated problem has no worked solution
        text = f"missing; allowed: a list of files in configs/data, as {', '.join(starting)} has a supervised_start"
        yield Fault("data.train_sets", text)
    unsolved = [name for name, s in train_sets.items() if s.kind == "generator" and s.package != "ict-core"]
    if starting and unsolved:
        allowed = f"sets with worked solutions, as {', '.join(starting)} has a supervised_start"
        yield refused("data.train_sets", unsolved, allowed)
    if file.job_hours is not None and models and not any(model.hardware for model in models.values()):
        text = "no model of the grid states `hardware`, so nothing reads it; allowed: only beside one that does"
        yield Fault("job_hours", text)
    used, available = file.data.train_problems, sum(train_set.drawn for train_set in train_sets.values())
    all_read = set(names) == set(train_sets)
    if names and all_read and used is not None and used > available:
        yield refused("data.train_problems", used, f"at most the {available} problems of {', '.join(names)}")
    for name, start in starting.items() if names and all_read else ():
        if start.problems > (rows := sum(train_set.rows for train_set in train_sets.values())):
            allowed = f"sets of at least as many rows as supervised_start.problems = {start.problems} of {name}: {rows}"
            yield refused("data.train_sets", list(names), allowed)
    sampled = file.data.within_reach.problems if file.data.within_reach else None
    if all_read and sampled is not None and sampled > (total := used or available):
        yield refused("data.within_reach.problems", sampled, f"at most the {total} problems of the training")
    steps = file.tuning.steps if file.tuning else None
    if recipe is not None and steps is not None:
        batches = [method.batch for method in methods.values() if method.batch]
        warmups = [*(method.warmup or 0 for method in methods.values()), *(batch.warmup_steps for batch in batches)]
        lowest = max([recipe.lr_warmup_steps, *warmups]) + 1
        shortest = min([recipe.steps, *(batch.steps for batch in batches)])
        if not lowest <= steps < shortest:
            allowed = f"{lowest} (after the warm-ups) to {shortest - 1}, below those of every variant"
            yield refused("tuning.steps", steps, allowed)
        elif steps % recipe.updates:
            yield refused("tuning.steps", steps, f"a multiple of the recipe's updates_per_rollout, {recipe.updates}")


def _check_gates(validity: Validity, trained: Mapping[str, Method]) -> Iterator[Fault]:
    """Check that the arms, where they are trained, are what their gates take them for."""
    arms = validity.arms()
    baseline, random = trained.get(validity.baseline), trained.get(validity.random)
    if baseline and not baseline.keeps_every_token:
        yield refused("evidence.validity.baseline", validity.baseline, "a method that trains every token")
    if random and not random.at_random:
        yield refused("evidence.validity.random", validity.random, "a method that keeps tokens at random")
    kinds: dict[str, tuple[str, Factor]] = {"replica": ("baseline", "replica"), "oracle_control": ("oracle", "control")}
    for key, (varied, factor) in kinds.items():
        method = trained.get(arms[key])
        if method and method.ablation != Variation(of=arms[varied], factor=factor):
            yield refused(f"evidence.validity.{key}", arms[key], f"a method with `of: {arms[varied]}` and `{factor}`")


def _check_method(
    method: Method, methods: Mapping[str, Method], training: Training | None, file: StudyFile
) -> Iterator[Fault]:
    """Check that a variant fits the study and differs from the one it varies.

    Inherited faults are that one's, if the study trains it.
    """
    faults = [*_check_updates(method, training, file.training)] if training else []
    if method.known_steps and file.data.train_sets is not None:
        allowed = f"where problems are generated alone, and the study {file.study!r} has data.train_sets"
        faults.append(refused("selector", method.selector, allowed))
    if (varied := method.ablation) is None:
        if method.control is not None:
            faults.append(refused("control", method.control, "beside `of`, the rule that it controls"))
        yield from faults
    elif varied.of in methods:  # else that variant's file has a problem, which is reported
        keys = {varied.factor, *(("group_size", "warmup_steps") if varied.factor == "batch" else ())}
        yield from (fault for fault in faults if fault.key in keys or varied.of not in file.variants())
        if varied.factor == "control" and varied.of not in file.variants():
            yield refused("control", method.settings().get("control"), f"beside the rule, {varied.of!r}, in the grid")
        of = methods[varied.of]
        if varied.factor == "control" and (of.keeps_every_token or of.control is not None):
            is_none = "is a control itself" if of.control else "keeps every token"
            allowed = f"a control of a rule that chooses or weighs tokens; {varied.of!r} {is_none}"
            yield refused("control", method.settings().get("control"), allowed)
        is_size = varied.factor in ("group_size", "batch")
        same_sizes = is_size and training is not None and _sizes(method, training) == _sizes(of, training)
        if same_sizes or getattr(method, varied.factor) == getattr(of, varied.factor):
            allowed = f"another value than that of {varied.of!r}"
            yield refused(varied.factor, method.settings().get(varied.factor), allowed)


def _sizes(method: Method, training: Training) -> tuple[object, ...]:
    """The sizes of a method's training with a recipe, and its warm-up."""
    sizes = {"prompts_per_step": training.prompts_per_step, "steps": training.steps}
    batch = method.batch or Batch(**sizes, warmup_steps=training.lr_warmup_steps)
    return method.group_size or training.group_size, method.warmup, batch


def _check_updates(method: Method, training: Training, recipe: str) -> Iterator[Fault]:
    """Check a method's batch, groups, updates and warm-up against the training in the file that `recipe` names."""
    prompts = method.batch.prompts_per_step if method.batch else training.prompts_per_step
    rollouts = prompts * training.group_size
    if method.group_size is not None and rollouts % method.group_size:
        allowed = f"a divisor of the {rollouts} rollouts of a step of the training {recipe!r}"
        yield refused("group_size", method.group_size, allowed)
    if training.updates == 1:
        needs_two = {"surrogate": method.surrogate is not None, "selector": method.two_updates}
        for key in (key for key, stated in needs_two.items() if stated):
            allowed = f"with updates_per_rollout >= 2 alone, and the training {recipe!r} has one update a rollout batch"
            yield refused(key, getattr(method, key), allowed)
    steps = method.batch.steps if method.batch else training.steps
    if method.warmup is not None and method.warmup >= steps:
        allowed = f"less than the {steps} steps of the training {recipe!r} (else nothing is selected)"
        yield refused("warmup_steps", method.warmup, allowed)
    elif method.warmup is not None and method.warmup % training.updates:
        allowed = (
            f"a multiple of the {training.updates} updates a rollout batch of {recipe!r} has, when tokens are selected"
        )
        yield refused("warmup_steps", method.warmup, allowed)


def _check_model(model: Model, training: Training, file: StudyFile) -> Iterator[Fault]:
    """Check that a model can train here, with responses that it has room for and micro-batches that fill a step."""
    hardware, recipe = model.hardware, file.training
    longest = max(training.max_new_tokens, file.evaluation.max_new_tokens)
    if (positions := model.architecture.max_positions) <= longest:
        allowed = f"more than the {longest} new tokens of the training {recipe!r} and the evaluation"
        yield refused("architecture.max_positions", positions, allowed)
    if hardware is None:
        if model.dtype != "float32":
            allowed = "float32, as without `hardware` a model runs on the CPU; or state `hardware` for a GPU"
            yield refused("dtype", model.dtype, allowed)
        return
    yield from _check_passes("hardware.micro_batch_sequences", model, training, f"the training {recipe!r}")
    if hardware.accelerate == "fsdp2" and training.lora is not None:
        yield refused("hardware.accelerate", "fsdp2", f"one-gpu or ddp, as {recipe!r} trains by lora")


def _check_passes(key: str, model: Model, training: Training, named: str) -> Iterator[Fault]:
    """Check that the micro-batches of a model's GPUs fill a step of the training."""
    per_pass = model.hardware.gpus * model.hardware.micro_batch_sequences if model.hardware else 1
    if (rollouts := training.sequences_per_step) % per_pass:
        text = f"gpus * micro_batch_sequences = {per_pass} does not divide the {rollouts} rollouts of a step of {named}"
        yield Fault(key, f"{text}; allowed: a divisor")


def _check_path(file: Path, key: str, path: str | None) -> Iterator[Fault]:
    """Check that a relative path stays in the project's folder, at which it starts, after its links are followed."""
    if path is None or Path(path).is_absolute():
        return
    root = repository(file)
    if "\0" in path or not Path(os.path.realpath(root / path)).is_relative_to(root):
        yield refused(key, path, f"a path that stays inside the project's folder {root}, or an absolute one")


def has_problems(results: Path) -> bool:
    """Whether the folder of a study's results already has the study's problems."""
    files = StudyFiles(results)
    return files.train_problems.exists() and files.eval_problems.exists()


def check_sources(study: Study, root: Path, results: Path) -> None:
    """Report missing sources of a study: local models, stored studies and, until its problems are made, its mirror.

    The check runs before a job starts. Loading a study, or reading only it or its `results`, needs no sources.

    Raises:
        UserError: one line for each missing folder or file; relative paths start at `root`, the study's repository.
    """
    mistakes, configs = Mistakes(), root / "configs"
    named = [
        (configs / "models" / f"{name}.yaml", "path", model.path, "config.json, tokenizer and *.safetensors")
        for name, model in study.models.items()
        if isinstance(model, LocalModel)
    ]
    study_file = configs / "studies" / f"{study.name}.yaml"
    for index, name in enumerate(study.beside):
        mistakes.add(study_file, *_check_stored(f"beside[{index}]", StudyFiles(root / stored_folder(name)).claims))
    if study.data.mirror is not None and not has_problems(results):
        named.append((study_file, "data.mirror", study.data.mirror, "OWNER/NAME/CONFIG/SPLIT.jsonl"))
    for file, key, path, content in named:
        if not (root / path).is_dir():
            allowed = f"one of {content}, absolute or from the repository's folder"
            mistakes.add(file, Fault(key, f"{path!r}: there is no folder {root / path}; allowed: {allowed}"))
    mistakes.raise_if_any()
