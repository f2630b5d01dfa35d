"""What the paper's study would cost with larger models and on more GPUs: the tables of docs/scale.md.

    python benchmarks/cost_at_scale.py
    python benchmarks/cost_at_scale.py --gpu h200       # or another of configs/plan.yaml
    python benchmarks/cost_at_scale.py --quick          # all the same, as it takes seconds

For each model it takes the methods and seeds of one model of `configs/studies/paper.yaml` (eight methods, five seeds:
40 trainings, 41 evaluations), spreads every training over as many GPUs as give the shortest wall time, and prints what
`ict plan` reckons. Nothing is run; every figure is an estimate from `configs/plan.yaml`.
"""

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import report

from ict_core.config import Architecture, HubModel, Study, load_study
from ict_core.tools.plan import (
    BYTES,
    Cost,
    Memory,
    PlanFile,
    gpu_device,
    parameters,
    read_plan,
    step_work,
    study_costs,
    training_memory,
)

REPOSITORY = Path(__file__).resolve().parents[1]
LIKE = "qwen2.5-1.5b"  # the model of the study whose methods and seeds are taken
# hidden, layers, heads, key-value heads, intermediate, vocabulary of the models that the study does not have
LARGER = {"qwen2.5-32b": (5120, 64, 40, 8, 27648, 152064), "qwen2.5-72b": (8192, 80, 64, 8, 29568, 152064)}
MICRO_BATCHES = (16, 8, 4, 2, 1)


class Spread(NamedTuple):
    """A training over some GPUs, and the study on all GPUs at hand."""

    gpus: int
    micro_batch: int
    memory: Memory
    train: Cost
    generate: Cost

    def wall(self, at_hand: int) -> float:
        """Hours, when trainings and then evaluations run in waves."""
        return sum(
            math.ceil(cost.jobs / (at_hand // cost.devices)) * cost.seconds / 3600
            for cost in (self.train, self.generate)
        )


def large_model(study: Study, name: str) -> HubModel:
    """A model of the study, or one of :data:`LARGER` with the rest of a file like the study's."""
    if name in study.models:
        return study.models[name]
    keys = ("hidden_size", "layers", "heads", "kv_heads", "intermediate_size", "vocab_size")
    sizes = Architecture(max_positions=131072, **dict(zip(keys, LARGER[name], strict=True)))
    return study.models["qwen2.5-7b"].model_copy(update={"hub": f"Qwen/{name.title()}", "architecture": sizes})


def with_hardware(study: Study, name: str, model: HubModel, gpus: int, micro_batch: int) -> Study:
    """The study of this model alone, trained on so many GPUs."""
    spread = {"gpus": gpus, "micro_batch_sequences": micro_batch, "accelerate": "one-gpu" if gpus == 1 else "fsdp2"}
    hardware = model.hardware.model_copy(update=spread)
    grid = tuple(b.model_copy(update={"models": (name,)}) for b in study.grid if LIKE in b.models)
    models = {name: model.model_copy(update={"hardware": hardware})}
    return dataclasses.replace(study, models=models, grid=grid)


def spreads(study: Study, plan: PlanFile, gpu: str, name: str) -> Iterator[Spread]:
    """Every power of two of GPUs over which a training fits, each with its largest micro-batch that fits."""
    device, model = gpu_device(plan, gpu), large_model(study, name)
    for gpus in (2**i for i in range(10)):
        for micro in MICRO_BATCHES:
            if study.training.sequences_per_step % (gpus * micro):
                continue
            one = with_hardware(study, name, model, gpus, micro)
            work = step_work(one, name, plan.assumptions)
            held = training_memory(one.models[name], one.training_of(name), work, device.memory, plan.assumptions)
            if held.peak <= device.memory:
                costs = {cost.stage: cost for cost in study_costs(one, plan, gpu, {})}
                yield Spread(gpus, micro, held, costs["train"], costs["generate"])
                break


def row(*cells: object) -> None:
    """A line of a Markdown table."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def print_fit(study: Study, plan: PlanFile, gpu: str, names: list[str]) -> None:
    """The fewest GPUs of a training, and what each holds."""
    print(f"Fewest GPUs of a training ({gpu}), GB on each:\n")
    row("model", "parameters", "GPUs", "micro-batch", "state", "reference", "activations", "statistics", "vLLM", "peak")
    row(":--", *["--:"] * 9)
    for name in names:
        least = next(spreads(study, plan, gpu, name))
        m, model = least.memory, large_model(study, name)
        held = (m.state, m.reference, m.activations, m.statistics, m.vllm, m.peak)
        count = parameters(model.architecture, model.tied_embeddings)
        row(name, f"{count:,}", least.gpus, least.micro_batch, *(f"{part / 1e9:.1f}" for part in held))
    print()


def print_wall(study: Study, plan: PlanFile, gpu: str, names: list[str]) -> None:
    """Hours and wall time on each number of GPUs at hand."""
    print(f"40 trainings and 41 evaluations ({gpu}):\n")
    heads = ("GPUs a training", "hours each", "GPUs an evaluation", "hours each", "GPU-hours", "days", "longest parts")
    row("model", "GPUs", *heads)
    row(":--", *["--:"] * 7, ":--")
    for name in names:
        found = list(spreads(study, plan, gpu, name))
        for at_hand in plan.wall_gpus:
            able = [s for s in found if max(s.train.devices, s.generate.devices) <= at_hand]
            if not able:
                row(name, at_hand, *["-"] * 6, "a training does not fit")
                continue
            s = min(able, key=lambda s: s.wall(at_hand))
            longest = sorted(s.train.parts.items(), key=lambda part: -part[1])[:3]
            shares = ", ".join(f"{part} {seconds / s.train.seconds:.0%}" for part, seconds in longest)
            hours = (s.gpus, f"{s.train.seconds / 3600:.1f}", s.generate.devices, f"{s.generate.seconds / 3600:.1f}")
            row(
                name, at_hand, *hours, f"{s.train.hours + s.generate.hours:,.0f}", f"{s.wall(at_hand) / 24:.2f}", shares
            )
    print()


def print_step(study: Study, plan: PlanFile, gpu: str, names: list[str], gpus: int) -> None:
    """Seconds of one step by part on the same number of GPUs."""
    print(f"Seconds of a step by part on {gpus} GPUs ({gpu}), and GB of weights that a sync moves:\n")
    for number, name in enumerate(names):
        one = next((s for s in spreads(study, plan, gpu, name) if s.gpus == gpus), None)
        if one is None:
            continue
        parts = {part: s / study.training.steps for part, s in one.train.parts.items() if part != "start"}
        if number == 0:
            row("model", *parts, "sync, GB")
            row(":--", *["--:"] * (len(parts) + 1))
        model = large_model(study, name)
        moved = parameters(model.architecture, model.tied_embeddings) * BYTES[model.dtype] / 1e9
        row(name, *(f"{s:.1f}" for s in parts.values()), f"{moved:.0f}")
    print()


def main() -> None:
    """Print the tables."""
    study = load_study(REPOSITORY / "configs/studies/paper.yaml")
    plan = read_plan(REPOSITORY / "configs/plan.yaml")
    parser = report.parser(__doc__)
    parser.add_argument("--gpu", choices=plan.gpus, default="h100", help="a key of gpus in configs/plan.yaml")
    options = report.parse(parser)
    names = [*study.models, *LARGER]
    print_fit(study, plan, options.gpu, names)
    print_wall(study, plan, options.gpu, names)
    print_step(study, plan, options.gpu, names, 64)


if __name__ == "__main__":
    main()
