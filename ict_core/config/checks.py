"""Checks of a file's values against those of other files; what is wrong within one section, its `faults` say."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ict_core.config.methods import Method
from ict_core.config.mistakes import Fault, refused, repository
from ict_core.config.models import Model
from ict_core.config.problem_sets import TrainingSet
from ict_core.config.study import Data
from ict_core.config.training import Training


def check_method(method: Method, training: Training, recipe: str) -> Iterator[Fault]:
    """A method's groups fill a step, and its warm-up ends before the training, whose file `recipe` names."""
    rollouts = training.sequences_per_step
    if method.group_size is not None and rollouts % method.group_size:
        allowed = f"a divisor of the {rollouts} rollouts of a step of the training {recipe!r}"
        yield refused("group_size", method.group_size, allowed)
    if method.warmup_steps is not None and method.warmup_steps >= training.steps:
        allowed = f"less than the {training.steps} steps of the training {recipe!r} (else nothing is selected)"
        yield refused("warmup_steps", method.warmup_steps, allowed)


def check_model(model: Model, training: Training, recipe: str) -> Iterator[Fault]:
    """A model's micro-batches fill a step of the training, whose file `recipe` names, and it can train its weights."""
    hardware, rollouts = model.hardware, training.sequences_per_step
    if hardware is None:
        return
    together = hardware.gpus * hardware.micro_batch_sequences
    if rollouts % together:
        text = f"gpus * micro_batch_sequences = {together} does not divide the {rollouts} rollouts of a step of the "
        yield Fault("hardware.micro_batch_sequences", f"{text}training {recipe!r}; allowed: a divisor")
    if hardware.accelerate == "fsdp2" and training.lora is not None:
        yield refused("hardware.accelerate", "fsdp2", f"one-gpu or ddp, as {recipe!r} trains by lora")


def check_warmups(methods: Mapping[str, Method]) -> Iterator[Fault]:
    """Every method that has a warm-up has one of its own or the study's."""
    without = [variant for variant, method in methods.items() if method.warmup_steps is None]
    if without:
        text = f"missing, and {', '.join(without)} state no warmup_steps; allowed: a whole number >= 0 here or there"
        yield Fault("selection_warmup_steps", text)


def check_ablation(method: Method, methods: Mapping[str, Method]) -> Iterator[Fault]:
    """A variant differs from the one that it varies in its factor, and in nothing else."""
    if method.ablation is None or method.ablation.of not in methods:
        return
    factor, varied = method.ablation.factor, method.ablation.of
    mine, theirs = method.settings(), methods[varied].settings()
    different = sorted(key for key in mine.keys() | theirs.keys() if mine.get(key) != theirs.get(key))
    if different != [factor]:
        difference = f"the keys {different} differ" if different else "no key differs"
        yield Fault("ablation", f"{difference} from {varied!r}; allowed: {factor!r}, its factor, alone")


def check_train_problems(data: Data, train_sets: Mapping[str, TrainingSet]) -> Iterator[Fault]:
    """The training sets have as many problems as are drawn from them."""
    names, wanted = data.train_sets or (), data.train_problems
    available = sum(train_set.drawn for train_set in train_sets.values())
    whole = set(names) == set(train_sets)  # else one of them has a problem of its own
    if names and whole and wanted is not None and wanted > available:
        yield refused("data.train_problems", wanted, f"at most the {available} problems of {', '.join(names)}")


def check_path(file: Path, key: str, path: str | None) -> Iterator[Fault]:
    """A relative path starts at the project's folder and stays in it, by its names and through its links."""
    if path is None or Path(path).is_absolute():
        return
    root = repository(file)
    inside = "\0" not in path and Path(os.path.realpath(root / path)).is_relative_to(root)
    if not inside:
        yield refused(key, path, f"a path that stays inside the project's folder {root}, or an absolute one")
