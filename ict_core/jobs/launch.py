"""How a job is started: on how many GPUs, by which command. The workflow's rules and `ict verify` start it alike."""

import os
from pathlib import Path

from ict_core.config.inputs import Hardware
from ict_core.config.study import Study
from ict_core.process.environment import applicable_lock
from ict_core.store.files import hash_file
from ict_core.store.layout import REPOSITORY, repository


def gpus(study: Study, stage: str, model: str) -> int:
    """How many GPUs a job of a model holds: as the model's file states, else none, or one for a CUDA build of vLLM."""
    hardware = study.models[model].hardware
    if hardware is None:
        return int(applicable_lock(REPOSITORY / "requirements").stem == "gpu")
    return hardware.gpus if stage == "train" else 1


def processes(study: Study, model: str) -> int:
    """How many processes train one cell: one per GPU, or one if the model's file states no hardware."""
    hardware = study.models[model].hardware
    return 1 if hardware is None else hardware.gpus


def launch(study_file: Path, study: Study, model: str) -> list[str]:
    """The words of the command before `train`: `ict`, or accelerate with the options of the model's hardware."""
    hardware = study.models[model].hardware
    if hardware is None:
        return ["ict"]
    options = ["--config_file", str(_launcher(study_file, hardware)), "--num_processes", str(hardware.gpus)]
    return ["accelerate", "launch", *options, "-m", "ict_core"]


def launcher_hash(study_file: Path, study: Study, model: str) -> str:
    """The SHA-256 of the file by which accelerate starts a training, as it can change the arithmetic.

    Empty if the model's file states no hardware.
    """
    hardware = study.models[model].hardware
    return "" if hardware is None else hash_file(_launcher(study_file, hardware))


def _launcher(study_file: Path, hardware: Hardware) -> Path:
    folder = repository(study_file)
    top = folder if study_file.is_absolute() else Path(os.path.relpath(folder))  # a command that is not run anew
    return top / "configs" / "accelerate" / f"{hardware.accelerate}.yaml"
