"""How a training can be watched: its progress, and the trackers that TRL reports to."""

import os
from pathlib import Path
from typing import Any, NamedTuple

from transformers import TrainerCallback

from ict_core.process.progress import Progress


class ShownProgress(TrainerCallback):
    """A :class:`Progress` of the optimiser steps with their reward, on the first rank."""

    def __init__(self) -> None:
        self._progress: Progress | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called by transformers once it knows where a resumed training goes on."""
        if state.is_world_process_zero:
            self._progress = Progress("step", state.max_steps, state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Called by transformers after each step, with TRL's means over it, and once more at the end without."""
        if self._progress is not None and "reward" in logs:
            reward = logs["reward"]  # None where no answer could be graded
            self._progress.update(state.global_step, reward=float("nan") if reward is None else reward)


class StopAfter(TrainerCallback):
    """Ends a training after so many optimiser steps; schedule, order and log of these are those of the whole one."""

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Called by transformers after each optimiser step."""
        control.should_training_stop = control.should_training_stop or state.global_step >= self._steps
        return control


class Tracking(NamedTuple):
    """Where a run is reported to.

    Attributes:
        trackers: names of TRL's ``report_to``.
        folder: of the files that they write.
        project: the study.
        run: the cell.
    """

    trackers: tuple[str, ...]
    folder: Path
    project: str
    run: str


def tracked(tracking: Tracking | None) -> dict[str, Any]:
    """What TRL is told of the trackers; what they themselves read is put into the environment.

    Where to log in is none of this: wandb and trackio have variables and files of their own for it.
    """
    if tracking is None:
        return {"report_to": "none"}
    tracking.folder.mkdir(parents=True, exist_ok=True)
    folder = str(tracking.folder.absolute())
    os.environ |= dict.fromkeys(("TENSORBOARD_LOGGING_DIR", "WANDB_DIR", "TRACKIO_DIR"), folder)
    os.environ.setdefault("WANDB_PROJECT", tracking.project)
    return {
        "report_to": list(tracking.trackers),
        "run_name": tracking.run,
        "project": tracking.project,  # trackio's
    }
