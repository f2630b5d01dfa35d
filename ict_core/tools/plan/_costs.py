"""What every stage of every model takes: jobs, tokens, and hours of GPUs or CPU threads."""

from dataclasses import dataclass, field, replace
from typing import Literal

from ict_core.config import ScratchModel, Study
from ict_core.tools.plan._assumptions import Device, PlanFile, cpu_device, gpu_device
from ict_core.tools.plan._measured import Rate, Rates
from ict_core.tools.plan._times import pretraining_seconds, replica_gpus, sampling_seconds, step_seconds
from ict_core.tools.plan._work import cells_of, evaluation_work, step_work


@dataclass(frozen=True)
class Cost:
    """One stage of one model.

    Attributes:
        stage: `pretrain`, `train`, `generate` or `grade`.
        tokens, seconds: of one job, whose wall time it is.
        devices: GPUs or CPU threads, by `kind`, that one job takes.
        measured: finished jobs that the seconds come from; 0 where they are an estimate.
        parts: the estimate's seconds by part.
        limit_hours: of one job, that the model's `hardware` gives a scheduler.
    """

    stage: str
    model: str
    jobs: int
    tokens: float
    seconds: float
    devices: int
    kind: Literal["GPU", "CPU"]
    measured: int = 0
    parts: dict[str, float] = field(default_factory=dict)
    limit_hours: float | None = None

    @property
    def hours(self) -> float:
        """GPU-hours or CPU-hours of all jobs."""
        return self.jobs * self.seconds * self.devices / 3600


def study_costs(study: Study, plan: PlanFile, gpu: str, rates: Rates) -> list[Cost]:
    """Every stage's cost, model by model.

    Args:
        gpu: a key of the plan's `gpus`, for models that have `hardware`; the others run on CPU threads.
        rates: what finished jobs took; where there is none, the cost is an estimate.
    """
    costs = []
    for name, model in study.models.items():
        device = cpu_device(plan) if model.hardware is None else gpu_device(plan, gpu)
        if isinstance(model, ScratchModel):
            costs.append(_pretraining(name, model, plan, device, rates.get(("pretrain", name))))
        generation = _generation(study, name, plan, device, rates.get(("generate", name)))
        grading = evaluation_work(study, name, plan.assumptions).answers * plan.assumptions.grading_seconds.value
        costs += [
            _training(study, name, plan, device, rates.get(("train", name))),
            generation,
            Cost("grade", name, generation.jobs, generation.tokens, grading, 1, "CPU"),
        ]
    return costs


def wall_hours(costs: list[Cost], gpus: int) -> float | None:
    """The least wall time of all GPU jobs on so many GPUs; None where a job takes more than there are.

    It is the larger of GPU-hours over GPUs and the longest training with its generation: no schedule does better, and
    one that starts the long jobs first comes close.
    """
    on_gpus = [cost for cost in costs if cost.kind == "GPU"]
    if any(cost.devices > gpus for cost in on_gpus):
        return None
    chains: dict[str, float] = {}
    for cost in on_gpus:
        chains[cost.model] = chains.get(cost.model, 0.0) + cost.seconds / 3600
    return max([sum(cost.hours for cost in on_gpus) / gpus, *chains.values()], default=0.0)


def _by_rate(cost: Cost, rate: Rate | None) -> Cost:
    """The cost by what finished jobs took, where there are any."""
    if rate is None:
        return cost
    return replace(cost, seconds=cost.tokens * rate.seconds_per_token, measured=rate.jobs, parts={})


def _pretraining(name: str, model: ScratchModel, plan: PlanFile, device: Device, rate: Rate | None) -> Cost:
    length = rate.answer if rate else plan.assumptions.document_tokens.value
    tokens = model.pretraining.steps * model.pretraining.batch_sequences * length  # each document is read once
    parts = {"start": device.start_seconds, "steps": pretraining_seconds(model, tokens, length, device)}
    return _by_rate(Cost("pretrain", name, 1, tokens, sum(parts.values()), 1, device.kind, parts=parts), rate)


def _training(study: Study, name: str, plan: PlanFile, device: Device, rate: Rate | None) -> Cost:
    model, training, hardware = study.models[name], study.training_of(name), study.models[name].hardware
    jobs, _ = cells_of(study, name)
    devices = hardware.gpus if hardware else training.threads
    work = step_work(study, name, plan.assumptions, rate)
    step = step_seconds(model, training, work, device, devices, plan.node_gpus, plan.assumptions)
    parts = {"start": device.start_seconds, **{part: s * training.steps for part, s in step.items()}}
    tokens, limit = training.steps * work.tokens, hardware.train_hours if hardware else None
    cost = Cost("train", name, jobs, tokens, sum(parts.values()), devices, device.kind, 0, parts, limit)
    return _by_rate(cost, rate)


def _generation(study: Study, name: str, plan: PlanFile, device: Device, rate: Rate | None) -> Cost:
    model, assumed, hardware = study.models[name], plan.assumptions, study.models[name].hardware
    share = assumed.vllm_memory_share.value
    _, jobs = cells_of(study, name)
    devices = replica_gpus(model, device.memory * share, assumed) if hardware else study.evaluation.threads
    work = evaluation_work(study, name, assumed, rate)
    sampling = sampling_seconds(model, work, device, devices, share, assumed)
    parts = {"start": device.start_seconds, "sampling": sampling}
    limit = hardware.generate_hours if hardware else None
    cost = Cost("generate", name, jobs, work.tokens, sum(parts.values()), devices, device.kind, 0, parts, limit)
    return _by_rate(cost, rate)
