"""Checkpoints of a running training, kept outside its output, so that a killed training resumes from the last one.

transformers writes weights as safetensors and its own state as JSON. It writes optimiser, scheduler and generators by
``torch.save`` and loads them with ``weights_only=True``, so no pickled code runs. This includes sharded optimisers, as
configs/accelerate has the full state dict. The training log adds its frames. The manifest is written last: a checkpoint
without one is unfinished.
"""

import itertools
import json
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import broadcast_object_list
from transformers import TrainerCallback
from transformers.trainer import TRAINING_ARGS_NAME
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, rotate_checkpoints

from ict_core.errors import UserError
from ict_core.process.machine import core_packages, machine_of, this_hardware, this_platform, this_process
from ict_core.selection.registry import rule_module
from ict_core.store.code import fingerprint
from ict_core.store.files import remove
from ict_core.store.layout import MANIFEST
from ict_core.store.manifests import check_files, file_hashes, write_manifest


def origin(selector: str, resolved: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that determines a training: a checkpoint is resumed only if all of it is unchanged.

    ``selector`` names the selection rule, ``resolved`` is the cell's resolved configuration with method and seed, and
    ``inputs`` holds the hashes of what the training reads and the other facts that its manifest states of its start.
    The CPU is not included: portable numerics give the same bytes on any CPU, and native numerics promise no bytes. So
    a training resumes wherever the kinds of GPU are the same.
    """
    return {
        "configuration": dict(resolved),
        **inputs,
        "library code": fingerprint("training.run", f"selection.{rule_module(selector)}"),
        "packages": core_packages(),
        "kinds of GPU": this_hardware()[1:],
    }


class _Foreign(UserError):
    """The error for a checkpoint of another training."""


class Checkpoints:
    """The checkpoints of one training, ``checkpoint-<step>`` each, in a folder that need not exist.

    ``origin`` is as :func:`origin` returns it; ``started`` is `time.perf_counter()` when this attempt began. The newest
    ``kept`` are kept, all if it is None.
    """

    def __init__(self, folder: Path, origin: Mapping[str, Any], started: float, kept: int | None = None) -> None:
        self.folder = folder
        self._kept = kept
        self._origin = json.loads(json.dumps(origin))  # as it is read back from a file
        self.started = started  # moved back by the time that earlier attempts took for the steps kept
        self.resumed_at: list[int] = []  # the steps at which this attempt and earlier ones resumed
        self.machines = [machine_of(this_platform(), this_process())]  # of earlier attempts and of this one

    def resume(self) -> Path | None:
        """The newest intact checkpoint of this training, or None; newer checkpoints are reported and set aside."""
        for folder in sorted(self.folder.glob(f"{PREFIX_CHECKPOINT_DIR}-*"), key=_step, reverse=True):
            try:
                content = self._read(folder)
            except UserError as error:
                aside = _set_aside(folder, "foreign" if isinstance(error, _Foreign) else "harmed")
                message = f"{error}; it is set aside as {aside.name}, and the training goes on from before"
                print(message, file=sys.stderr, flush=True)
                continue
            self.started -= content["seconds"]
            self.resumed_at = [*content["resumed_at"], _step(folder)]
            self.machines = [*content["machines"], *self.machines]
            return folder
        return None

    def remove(self) -> None:
        """Remove the checkpoints of a finished training; those of other trainings stay."""
        for path in self.folder.glob("*"):
            if not path.name.startswith("foreign-"):
                with suppress(OSError):  # the output is complete, even if something stays here
                    remove(path)
        with suppress(OSError):  # not empty if foreign checkpoints stay
            self.folder.rmdir()

    def seal(self, folder: Path) -> None:
        """Write the manifest of a checkpoint whose other files are complete; only then the oldest may go."""
        content = {
            "origin": self._origin,
            "files": file_hashes(folder),
            "seconds": time.perf_counter() - self.started,
            "resumed_at": self.resumed_at,
            "machines": self.machines,
        }
        write_manifest(folder / MANIFEST, content)
        rotate_checkpoints(str(self.folder), self._kept)

    def _read(self, folder: Path) -> dict[str, Any]:
        """The manifest of a checkpoint; raises a UserError if the checkpoint cannot be resumed."""
        if not (folder / MANIFEST).exists():
            raise UserError(f"{folder}: a checkpoint that was not finished")
        content = check_files(folder)
        others = [name for name, value in self._origin.items() if content["origin"].get(name) != value]
        if others:
            raise _Foreign(f"{folder}: a checkpoint of another training (other {', '.join(others)})")
        return content


def _step(folder: Path) -> int:
    return int(folder.name.rpartition("-")[2])


def _set_aside(folder: Path, why: str) -> Path:
    """Rename a checkpoint to an unused name that transformers does not take for a checkpoint; returns the new path."""
    names = (f"{why}-{number}-{folder.name}" for number in itertools.count(1))
    aside = next(path for name in names if not (path := folder.with_name(name)).exists())
    folder.rename(aside)
    return aside


def train_from(trainer: Any, checkpoints: Checkpoints | None, stop_after: int | None = None) -> None:
    """Train a `SelectiveGRPOTrainer` from the last checkpoint, or from the base model if there is none.

    ``checkpoints`` is None on all ranks but the first. A checkpoint that is not before ``stop_after`` is a UserError.
    """
    (resumed,) = broadcast_object_list([None if checkpoints is None else checkpoints.resume()])
    if stop_after is not None:
        if resumed is not None and _step(resumed) >= stop_after:
            raise UserError(
                f"--stop-after: {stop_after} is not allowed; allowed: more than {_step(resumed)}, as an earlier "
                f"attempt came so far ({resumed}), or another folder for the output"
            )
        trainer.add_callback(StopAfter(stop_after))
    if resumed is not None:
        trainer.training_log.read(resumed)
    trainer.add_callback(Checkpointing(checkpoints, trainer))
    trainer.train(resume_from_checkpoint=None if resumed is None else str(resumed))


class StopAfter(TrainerCallback):
    """Ends a training after some optimiser steps; their schedule, order and log are those of the full training."""

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Called by transformers after each optimiser step."""
        control.should_training_stop = control.should_training_stop or state.global_step >= self._steps
        return control


class Checkpointing(TrainerCallback):
    """Completes the checkpoints that transformers writes, and restores the order of the prompts after a resume.

    ``checkpoints`` is None on all ranks but the first; the frames of the trainer's log are part of a checkpoint.
    """

    def __init__(self, checkpoints: Checkpoints | None, trainer: Any) -> None:
        self._checkpoints, self._trainer = checkpoints, trainer

    def on_train_begin(self, args: Any, state: Any, control: Any, train_dataloader: Any = None, **_: Any) -> None:
        """Draw the orders of the earlier epochs again: TRL's sampler has one generator for all epochs."""
        batches = train_dataloader.batch_sampler
        sampler = getattr(batches, "batch_sampler", batches).sampler  # wrapped by accelerate for a rank's share
        steps = sampler.num_samples // sampler.batch_size * args.num_iterations  # per epoch
        for _epoch in range(state.global_step // steps):
            torch.randperm(sampler.num_samples, generator=sampler.generator)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Skip a checkpoint after the last step: transformers would train one more from it, and the output follows."""
        control.should_save = control.should_save and not control.should_training_stop
        return control

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called by transformers on every rank once it has written its part of a checkpoint."""
        self._trainer.accelerator.wait_for_everyone()  # each rank writes its generators' states
        if self._checkpoints is not None:
            folder = self._checkpoints.folder / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}"
            (folder / TRAINING_ARGS_NAME).unlink()  # a pickle
            (folder.parent / "README.md").unlink(missing_ok=True)  # TRL's model card
            self._trainer.training_log.write(folder)
            self._checkpoints.seal(folder)
        self._trainer.training_log.start()  # the time for a checkpoint counts for no step
