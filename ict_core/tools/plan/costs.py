"""What every stage of every model takes: jobs, tokens, and hours of GPUs or CPU threads."""

from dataclasses import dataclass, field
from typing import Literal

from ict_core.config.models import ScratchModel
from ict_core.config.study import Study
from ict_core.tools.plan.assumptions import CPU, Device, PlanFile, cpu_device, gpu_device
from ict_core.tools.plan.measured import Rate, Rates
from ict_core.tools.plan.sampling import replica_gpus, sampling_seconds
from ict_core.tools.plan.training import pretraining_seconds, step_seconds
from ict_core.tools.plan.work import cells_of, evaluation_work, pretraining_documents, step_work


@dataclass(frozen=True)
class Cost:
    """One stage of one model.

    Attributes:
        stage: `pretrain`, `train`, `generate` or `grade`.
        jobs: how many.
        tokens: of one job.
        seconds: wall time of one job.
        devices: GPUs or CPU threads that one job takes.
        kind: which of the two.
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
        costs.append(_training(study, name, plan, device, rates.get(("train", name))))
        generation = _generation(study, name, plan, device, rates.get(("generate", name)))
        work = evaluation_work(study, model.architecture, plan.assumptions)
        grading = work.answers * plan.assumptions.grading_seconds.value
        costs += [generation, Cost("grade", name, generation.jobs, generation.tokens, grading, 1, "CPU")]
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


def _pretraining(name: str, model: ScratchModel, plan: PlanFile, device: Device, rate: Rate | None) -> Cost:
    length = rate.answer if rate else plan.assumptions.document_tokens.value
    tokens = pretraining_documents(model) * length
    parts = {"start": device.start_seconds, "steps": pretraining_seconds(model, tokens, length, device)}
    return _cost("pretrain", name, 1, tokens, 1, device, rate, parts)


def _training(study: Study, name: str, plan: PlanFile, device: Device, rate: Rate | None) -> Cost:
    model, training, hardware = study.models[name], study.training_of(name), study.models[name].hardware
    jobs, _ = cells_of(study, name)
    devices = hardware.gpus if hardware else training.threads
    work = step_work(study, name, plan.assumptions, rate.answer if rate else None)
    step = step_seconds(model, training, work, device, devices, plan.node_gpus, plan.assumptions)
    parts = {"start": device.start_seconds, **{part: s * training.steps for part, s in step.items()}}
    limit = hardware.train_hours if hardware else None
    return _cost("train", name, jobs, training.steps * work.tokens, devices, device, rate, parts, limit)


def _generation(study: Study, name: str, plan: PlanFile, device: Device, rate: Rate | None) -> Cost:
    model, assumed, hardware = study.models[name], plan.assumptions, study.models[name].hardware
    a, tied, share = model.architecture, model.tied_embeddings, assumed.vllm_memory_share.value
    _, jobs = cells_of(study, name)
    gpus = replica_gpus(a, tied, model.dtype, device.memory * share, assumed)
    devices = gpus if hardware else study.evaluation.threads
    work = evaluation_work(study, a, assumed, rate.answer if rate else None)
    sampling = sampling_seconds(a, tied, model.dtype, work, device, devices, share, assumed)
    parts = {"start": device.start_seconds, "sampling": sampling}
    limit = hardware.generate_hours if hardware else None
    return _cost("generate", name, jobs, work.tokens, devices, device, rate, parts, limit)


def _cost(
    stage: str,
    model: str,
    jobs: int,
    tokens: float,
    devices: int,
    device: Device,
    rate: Rate | None,
    parts: dict[str, float],
    limit_hours: float | None = None,
) -> Cost:
    """With the measured rate where there is one, else from the estimate's parts."""
    kind: Literal["GPU", "CPU"] = "CPU" if device.name == CPU else "GPU"
    if rate:
        seconds = tokens * rate.seconds_per_token
        return Cost(stage, model, jobs, tokens, seconds, devices, kind, rate.jobs, limit_hours=limit_hours)
    return Cost(stage, model, jobs, tokens, sum(parts.values()), devices, kind, 0, parts, limit_hours)
