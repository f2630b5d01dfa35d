"""The trainer of a study's cell: as anyone's, and its trainings go on where they were."""

from typing import Any

from accelerate.utils import broadcast_object_list

from ict_core.training._resume import Checkpointing, Checkpoints
from ict_core.training._trainer import SelectiveGRPOTrainer


class CellTrainer(SelectiveGRPOTrainer):
    """A :class:`SelectiveGRPOTrainer` with the checkpoints of a cell."""

    def train_from(self, checkpoints: Checkpoints | None) -> None:
        """Train from the last checkpoint, or from the base where there is none; None on all ranks but the first."""
        (resumed,) = broadcast_object_list([None if checkpoints is None else checkpoints.resume()])
        if resumed is not None:
            self.training_log.read(resumed.folder)
        self.add_callback(Checkpointing(checkpoints, self.training_log, self.accelerator))
        self.training_log.start()
        self.train(resume_from_checkpoint=None if resumed is None else str(resumed.folder))

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """None: TRL would write one into the folder of the checkpoints."""
