"""Checks that need more than one value: each notes what it finds."""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from ict_core.config.benchmarks import ANSWER_TYPES, Benchmark, GeneratedBenchmark
from ict_core.config.methods import Method, TopScore
from ict_core.config.mistakes import Mistakes, closest, repository
from ict_core.config.models import HubModel, LocalModel, Model, ScratchModel
from ict_core.config.published import READERS, PublishedSet
from ict_core.config.study import Data, StudyFile, block_cells
from ict_core.config.training import Rollouts, Training

MOST_CELLS = 20_000
LARGEST_K = 4  # of the tables
_COMMIT = re.compile(r"[0-9a-f]{40}")
_PLACES = re.compile(r"\{(?:question|options)\}")


def check_evaluation(file: Path, study: StudyFile, mistakes: Mistakes) -> None:
    """The tables' pass@4 needs four samples a problem."""
    apart = study.evaluation.samples_of or {}
    counts = {"samples": study.evaluation.samples, **{f"samples_of.{name}": n for name, n in apart.items()}}
    for key, samples in counts.items():
        if samples < LARGEST_K:
            allowed = f"at least {LARGEST_K} (n < k otherwise: the tables show pass@{LARGEST_K})"
            mistakes.refuse(file, f"evaluation.{key}", samples, allowed)
    for name in apart.keys() - set(study.benchmarks):
        mistakes.add(file, f"evaluation.samples_of.{name}", f"no such benchmark; {closest(name, study.benchmarks)}")


def check_grid(file: Path, study: StudyFile, mistakes: Mistakes) -> None:
    """No cell twice, and each baseline wherever something is compared with it."""
    _unique(file, "benchmarks", study.benchmarks, mistakes)
    _unique(file, "baselines", study.baselines, mistakes)
    cells = sum(len(block.models) * len(block.methods) * len(block.seeds) for block in study.grid)
    if cells > MOST_CELLS:
        mistakes.add(file, "grid", f"has {cells:,} cells; allowed: at most {MOST_CELLS:,}")
        return
    first: dict[tuple[str, str, int], int] = {}
    for index, block in enumerate(study.grid):
        for key in ("models", "methods", "seeds"):
            _unique(file, f"grid[{index}].{key}", getattr(block, key), mistakes)
        again = [cell for cell in block_cells(block) if first.setdefault(cell, index) != index]
        if again:
            shown = ", ".join(f"{c.model}/{c.variant}/seed {c.seed}" for c in again[:5])
            more = f" and {len(again) - 5} more" if len(again) > 5 else ""
            mistakes.add(
                file, f"grid[{index}]", f"{shown}{more} already stand in another block; allowed: each cell once"
            )
    _check_baselines(file, study, mistakes)
    ran = {variant for block in study.grid for variant in block.methods}
    for index, variant in enumerate(study.shown or ()):
        if variant not in ran:
            mistakes.add(file, f"shown[{index}]", f"{variant!r} is not in the grid; {closest(variant, ran)}")


def _check_baselines(file: Path, study: StudyFile, mistakes: Mistakes) -> None:
    seeds: dict[str, dict[str, set[int]]] = {}  # by model and variant
    for block in study.grid:
        for model, variant, seed in block_cells(block):
            seeds.setdefault(model, {}).setdefault(variant, set()).add(seed)
    for index, baseline in enumerate(study.baselines):
        for model, variants in seeds.items():
            others = set().union(*(found for variant, found in variants.items() if variant != baseline))
            lacking = sorted(others - variants.get(baseline, set()))
            if lacking:
                mistakes.add(
                    file,
                    f"baselines[{index}]",
                    f"{baseline!r} is not in the grid for model {model} with the seeds {lacking}, "
                    f"where other methods are compared with it; allowed: a method that the grid runs for every "
                    f"model with every seed of the others (here: {', '.join(variants)})",
                )


def check_training(file: Path, training: Training, mistakes: Mistakes) -> None:
    """The rollouts of a step fall into whole micro-batches; the learning rate's warm-up ends."""
    if training.sequences_per_step % training.micro_batch_sequences:
        mistakes.refuse(
            file,
            "micro_batch_sequences",
            training.micro_batch_sequences,
            f"a divisor of prompts_per_step * group_size = {training.sequences_per_step}",
        )
    if training.lr_warmup_steps >= training.steps:
        mistakes.refuse(file, "lr_warmup_steps", training.lr_warmup_steps, f"less than steps = {training.steps}")
    if training.rollouts is not None:
        _check_rollouts(file, training.rollouts, mistakes)


def _check_rollouts(file: Path, rollouts: Rollouts, mistakes: Mistakes) -> None:
    colocated = rollouts.engine == "vllm-colocate"
    for key, needed in (("memory_share", colocated), ("sleep", colocated), ("server", not colocated)):
        value = getattr(rollouts, key)
        if needed and value is None:
            mistakes.add(file, f"rollouts.{key}", f"missing; allowed: a value, as rollouts.engine is {rollouts.engine}")
        if not needed and value is not None:
            mistakes.refuse(file, f"rollouts.{key}", value, f"nothing, as rollouts.engine is {rollouts.engine}")


def check_method(file: Path, method: Method, training: Training, training_name: str, mistakes: Mistakes) -> None:
    """A selector's warm-up ends before the training does; its groups fill a step; its score has its reference."""
    if isinstance(method, TopScore) and method.reference != "position" and method.score != "js":
        mistakes.refuse(file, "reference", method.reference, f"position, as the score is {method.score}")
    rollouts = training.sequences_per_step
    if method.group_size is not None and rollouts % method.group_size:
        allowed = f"a divisor of the {rollouts} rollouts of a step of the training {training_name!r}"
        mistakes.refuse(file, "group_size", method.group_size, allowed)
    if method.warmup_steps is not None and method.warmup_steps >= training.steps:
        allowed = f"less than the {training.steps} steps of the training {training_name!r} (else nothing is selected)"
        mistakes.refuse(file, "warmup_steps", method.warmup_steps, allowed)


def check_warmups(file: Path, methods: Mapping[str, Method], mistakes: Mistakes) -> None:
    """Every method that has a warm-up has one of its own or the study's."""
    without = [variant for variant, method in methods.items() if method.warmup_steps is None]
    if without:
        mistakes.add(
            file,
            "selection_warmup_steps",
            f"missing, and {', '.join(without)} state no warmup_steps; allowed: a whole number >= 0 here or there",
        )


def check_ablations(files: Mapping[str, Path], methods: Mapping[str, Method], mistakes: Mistakes) -> None:
    """A variant differs from the one that it varies in its factor, and in nothing else."""
    for variant, method in methods.items():
        if method.ablation is None or method.ablation.of not in methods:
            continue
        factor, other = method.ablation.factor, methods[method.ablation.of]
        mine, theirs = method.settings(), other.settings()
        different = sorted(key for key in mine.keys() | theirs.keys() if mine.get(key) != theirs.get(key))
        if different != [factor]:
            found = f"the keys {different} differ" if different else "no key differs"
            allowed = f"{factor!r}, its factor, alone"
            mistakes.add(files[variant], "ablation", f"{found} from {method.ablation.of!r}; allowed: {allowed}")


def check_model(file: Path, model: Model, training: Training, training_name: str, mistakes: Mistakes) -> None:
    """The sizes fit together, a hub model is pinned, a prompt has its place, the rollouts fill whole micro-batches."""
    sizes = model.architecture
    if sizes.hidden_size % (2 * sizes.heads):
        allowed = f"a divisor of hidden_size / 2 = {sizes.hidden_size / 2:g} (rotary positions need an even head)"
        mistakes.refuse(file, "architecture.heads", sizes.heads, allowed)
    if sizes.heads % sizes.kv_heads:
        mistakes.refuse(file, "architecture.kv_heads", sizes.kv_heads, f"a divisor of heads = {sizes.heads}")
    if isinstance(model, ScratchModel):
        return
    if isinstance(model, LocalModel):
        _check_path(file, "path", model.path, mistakes)
    if isinstance(model, HubModel):
        _check_pin(file, model.revision, model.allow_unpinned, mistakes)
    if model.prompt is not None and model.prompt.template.count("{prompt}") != 1:
        mistakes.refuse(file, "prompt.template", model.prompt.template, "a text that holds {prompt} once")
    beyond = [i for i in model.stop_ids if not 0 <= i < sizes.vocab_size]
    if beyond:
        mistakes.refuse(file, "stop_ids", beyond, f"ids below architecture.vocab_size = {sizes.vocab_size}")
    if model.hardware is not None:
        together = model.hardware.gpus * model.hardware.micro_batch_sequences
        if training.sequences_per_step % together:
            mistakes.add(
                file,
                "hardware.micro_batch_sequences",
                f"gpus * micro_batch_sequences = {together} does not divide the {training.sequences_per_step} rollouts "
                f"of a step of the training {training_name!r}; allowed: a divisor",
            )
        if model.hardware.accelerate == "fsdp2" and training.lora is not None:
            mistakes.refuse(
                file, "hardware.accelerate", "fsdp2", f"one-gpu or ddp, as {training_name!r} trains by lora"
            )
        if (model.hardware.accelerate == "one-gpu") != (model.hardware.gpus == 1):
            allowed = "one-gpu with gpus: 1, and only there"
            mistakes.refuse(file, "hardware.accelerate", model.hardware.accelerate, allowed)


def check_benchmark(file: Path, name: str, benchmark: Benchmark, mistakes: Mistakes) -> None:
    """A benchmark's name is its file's, a generated one's answer type its family's, a published one whole."""
    if not isinstance(benchmark, GeneratedBenchmark):
        return check_published(file, name, benchmark, mistakes)
    named_as_its_file(file, "name", name, benchmark.name, mistakes)
    wanted = ANSWER_TYPES[benchmark.family]
    if benchmark.answer_type != wanted:
        mistakes.refuse(file, "answer_type", benchmark.answer_type, f"{wanted}, as the family {benchmark.family} asks")
    return None


def check_published(file: Path, name: str, published: PublishedSet, mistakes: Mistakes) -> None:
    """A published set is pinned, its prompt has a place for what it shows, and it has the problems asked for."""
    named_as_its_file(file, "name", name, published.name, mistakes)
    _check_pin(file, published.revision, published.allow_unpinned, mistakes)
    if published.reader not in READERS:
        mistakes.add(file, "reader", f"{published.reader!r} is unknown; {closest(published.reader, READERS)}")
    if published.sha256 is None and not published.gated:
        mistakes.refuse(file, "sha256", None, "64 hexadecimal digits (null only with gated: true)")
    shown = ["{question}", *(["{options}"] if published.answer_type == "choice" else [])]
    template = published.prompt.template
    if sorted(_PLACES.findall(template)) != sorted(shown):
        allowed = f"a text that holds {' and '.join(shown)} once each, as the answer type {published.answer_type} asks"
        mistakes.refuse(file, "prompt.template", template, allowed)
    if published.drawn > published.rows:
        mistakes.refuse(file, "problems", published.problems, f"at most rows = {published.rows}")
    _unique(file, "configs", published.configs, mistakes)


def check_data(file: Path, data: Data, train_sets: Mapping[str, PublishedSet], mistakes: Mistakes) -> None:
    """Training problems are generated in a number that is given, or drawn from sets that have as many."""
    if data.mirror is not None:
        _check_path(file, "data.mirror", data.mirror, mistakes)
    if data.train_sets is None:
        if data.train_problems is None:
            mistakes.add(file, "data.train_problems", "missing; allowed: a whole number >= 1, or data.train_sets")
        return
    _unique(file, "data.train_sets", data.train_sets, mistakes)
    available = sum(train_set.drawn for train_set in train_sets.values())
    whole = set(data.train_sets) == set(train_sets)  # else one of them has a problem of its own
    if whole and data.train_problems is not None and data.train_problems > available:
        allowed = f"at most the {available} problems of {', '.join(data.train_sets)}"
        mistakes.refuse(file, "data.train_problems", data.train_problems, allowed)


def _check_path(file: Path, key: str, path: str, mistakes: Mistakes) -> None:
    """A relative path starts at the project's folder and stays in it, by its names and through its links."""
    root = repository(file)
    inside = "\0" not in path and Path(os.path.realpath(root / path)).is_relative_to(root)
    if not inside and not Path(path).is_absolute():
        mistakes.refuse(file, key, path, f"a path that stays inside the project's folder {root}, or an absolute one")


def _check_pin(file: Path, revision: str, allow_unpinned: bool, mistakes: Mistakes) -> None:
    if not _COMMIT.fullmatch(revision) and not allow_unpinned:
        allowed = "a commit of 40 hexadecimal digits, or any revision with allow_unpinned: true"
        mistakes.refuse(file, "revision", revision, allowed)


def named_as_its_file(file: Path, key: str, name: str, written: str, mistakes: Mistakes) -> None:
    """A name that other files or results go by is that of the file which gives it."""
    if written != name:
        mistakes.refuse(file, key, written, f"{name!r}, as the file is called")


def _unique(file: Path, key: str, values: Sequence[object], mistakes: Mistakes) -> None:
    twice = [value for value, times in Counter(values).items() if times > 1]
    if twice:
        mistakes.refuse(file, key, list(values), f"each entry once ({', '.join(map(str, twice))} stands twice)")
