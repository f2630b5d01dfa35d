"""What the plan reckons with: `configs/plan.yaml`, each number with unit and source, and what finished jobs took."""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import Field

from ict_core.config import Count, Dtype, Name, Section, read_section
from ict_core.config.mistakes import Mistakes, closest
from ict_core.errors import UserError
from ict_core.store import MANIFEST, StudyFiles, cell_folder, read_manifest, records


class PlannedGpu(Section):
    """A GPU's data sheet; a GB is 10^9 bytes."""

    bfloat16_tflops: float = Field(gt=0)
    float32_tflops: float = Field(gt=0)
    bandwidth_gb_s: float = Field(gt=0)
    memory_gb: float = Field(gt=0)
    link_gb_s: float = Field(gt=0)
    network_gb_s: float = Field(gt=0)
    source: str = Field(min_length=1)


class Cpu(Section):
    """One thread of a CPU."""

    float32_tflops: float = Field(gt=0)
    bandwidth_gb_s: float = Field(gt=0)
    source: str = Field(min_length=1)


class Assumption(Section):
    """A number with its unit and source."""

    value: float = Field(gt=0)
    unit: str = Field(min_length=1)
    source: str = Field(min_length=1)


class Share(Assumption):
    """An assumption that is a part of something."""

    value: float = Field(gt=0, le=1)


class Assumptions(Section):
    """What is assumed where nothing has been measured; what each is stands in the file as its unit."""

    train_answer_share: Share
    evaluation_answer_share: Share
    zero_advantage_share: Share
    prompt_tokens: Assumption
    longest_prompt_tokens: Assumption
    document_tokens: Assumption
    mfu: Share
    bandwidth_share: Share
    link_share: Share
    decode_step_seconds: Assumption
    sequences_in_flight: Assumption
    vllm_memory_share: Share
    vllm_weights_share: Share
    statistics_vocabulary_passes: Assumption
    statistics_probabilities: Assumption
    statistics_tile: Assumption
    layer_activation_bytes: Assumption
    start_seconds: Assumption
    cpu_start_seconds: Assumption
    grading_seconds: Assumption
    completion_bytes_per_token: Assumption
    grade_bytes: Assumption
    log_bytes_per_step: Assumption
    sampled_token_bytes: Assumption


class PlanFile(Section):
    """The whole file."""

    gpu: Name
    gpus: dict[Name, PlannedGpu] = Field(min_length=1)
    cpu: Cpu
    node_gpus: Count
    wall_gpus: tuple[Count, ...] = Field(min_length=1)
    assumptions: Assumptions


@dataclass(frozen=True)
class Device:
    """What one GPU, or one CPU thread, gives a job."""

    kind: Literal["GPU", "CPU"]
    flop_s: dict[Dtype, float]  # FLOP/s in large products
    bytes_s: float  # bytes/s of its memory
    link_s: float  # bytes/s to a device of the same node
    network_s: float  # and of another
    memory: float  # bytes
    start_seconds: float  # from a job's start to its first token


def read_plan(path: Path) -> PlanFile:
    """Read and check the file; an error has one line a problem."""
    mistakes = Mistakes()
    plan: PlanFile | None = read_section(path, PlanFile, mistakes)
    if plan is not None and plan.gpu not in plan.gpus:
        mistakes.add(path, "gpu", f"{plan.gpu!r} is unknown; {closest(plan.gpu, plan.gpus)}")
    mistakes.raise_if_any()
    assert plan is not None  # a file that was not read has a problem
    return plan


def gpu_device(plan: PlanFile, name: str) -> Device:
    """A GPU of the file at the assumed efficiencies; an error if it has no such GPU."""
    if name not in plan.gpus:
        raise UserError(f"configs/plan.yaml: gpus: {name!r} is unknown; {closest(name, plan.gpus)}")
    gpu, assumed = plan.gpus[name], plan.assumptions
    tflops: dict[Dtype, float] = {"bfloat16": gpu.bfloat16_tflops, "float32": gpu.float32_tflops}
    return Device(
        "GPU",
        {dtype: value * 1e12 * assumed.mfu.value for dtype, value in tflops.items()},
        gpu.bandwidth_gb_s * 1e9 * assumed.bandwidth_share.value,
        gpu.link_gb_s * 1e9 * assumed.link_share.value,
        gpu.network_gb_s * 1e9 * assumed.link_share.value,
        gpu.memory_gb * 1e9,
        assumed.start_seconds.value,
    )


def cpu_device(plan: PlanFile) -> Device:
    """A CPU thread at the assumed efficiencies; it works in float32, whatever the dtype on disk, and alone."""
    cpu, assumed = plan.cpu, plan.assumptions
    flop_s = cpu.float32_tflops * 1e12 * assumed.mfu.value
    bytes_s = cpu.bandwidth_gb_s * 1e9 * assumed.bandwidth_share.value
    by_dtype: dict[Dtype, float] = {"bfloat16": flop_s, "float32": flop_s}
    return Device("CPU", by_dtype, bytes_s, bytes_s, bytes_s, float("inf"), assumed.cpu_start_seconds.value)


_MADE = ("pretrain", "supervised_start")  # jobs that make a base model, and do not fetch it
_COLUMNS = ["stage", "model", "tokens", "seconds", "answers"]


@dataclass(frozen=True)
class Rate:
    """What a model's finished jobs of one stage took."""

    jobs: int
    seconds_per_token: float  # wall seconds of a job, loading included
    answer: float  # tokens of an answer (or pretraining document), mean


Rates = dict[tuple[str, str], Rate]  # by stage (one of `records.STAGES`) and model


def measured_rates(results: Path, damaged: Container[Path] = ()) -> Rates:
    """The rates of a results folder; empty where there is none, or nothing has finished there but what is `damaged`."""
    jobs = pd.DataFrame([*_cells(results, damaged)], columns=_COLUMNS)
    compute = StudyFiles(results).frame("compute")
    if jobs.empty and compute.exists() and compute not in damaged:
        jobs = _collected(StudyFiles(results))
    rates = {}
    for (stage, model), took in jobs[(jobs["tokens"] > 0) & (jobs["seconds"] > 0)].groupby(["stage", "model"]):
        seconds, tokens, answers = (took[column].sum() for column in ("seconds", "tokens", "answers"))
        rates[str(stage), str(model)] = Rate(len(took), float(seconds / tokens), float(tokens / answers))
    return rates


def _cells(results: Path, damaged: Container[Path]) -> Iterator[dict[str, Any]]:
    """One row a finished job, from its manifest."""
    files = StudyFiles(results)
    cell = files.cell(cell_folder("*", "*", "*"))
    for pattern in (files.base_model("*") / MANIFEST, cell.train / MANIFEST, cell.generation):
        for path in sorted(results.glob(pattern.relative_to(results).as_posix())):
            if path in damaged or path.parent in damaged:
                continue
            manifest = read_manifest(path)
            if path.parent.name == "model" and manifest.get("stage") not in _MADE:  # it was downloaded
                continue
            try:
                took = {"stage": manifest["stage"], "tokens": manifest["tokens"], "seconds": manifest["wall_seconds"]}
                yield took | {"model": path.relative_to(results).parts[0], "answers": _answers(manifest)}
            except KeyError as error:
                raise UserError(f"{path}: has no {error}; rerun the stage that writes it") from error


def _answers(manifest: dict[str, Any]) -> int:
    """How many documents or answers a job read or sampled, by its manifest."""
    if manifest["stage"] == "generate":
        return int(manifest["completions"])
    config = manifest["config"]
    if manifest["stage"] in _MADE:
        return _documents(config["model"])
    return _rollouts(config["training"])


def _collected(files: StudyFiles) -> pd.DataFrame:
    """One row a job of a collected study; the answers that a job sampled are as long as the model's evaluated ones."""
    jobs = records.read_frame(files.frame("compute"), records.COMPUTE)
    scores = records.read_frame(files.frame("scores"), records.SCORES)
    evaluated = scores.groupby("model")[["sampled", "tokens"]].sum()
    length = evaluated["tokens"] / evaluated["sampled"]
    settings = read_manifest(files.settings)

    def answers(stage: str, model: str, tokens: int) -> float:
        if stage in _MADE:
            return _documents(settings["models"][model])
        return _rollouts(settings["training"]) if stage == "train" else tokens / float(length[model])

    rows = zip(jobs["stage"], jobs["model"], jobs["tokens"], strict=True)
    return jobs.assign(answers=[answers(*row) for row in rows])[_COLUMNS]


def _rollouts(training: dict[str, Any]) -> int:
    return int(training["steps"] * training["prompts_per_step"] * training["group_size"])


def _documents(model: dict[str, Any]) -> int:
    if rule := model.get("pretraining"):
        return int(rule["steps"] * rule["batch_sequences"])
    return int(model["supervised_start"]["problems"])
