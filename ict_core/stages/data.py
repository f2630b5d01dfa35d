"""The problems that a study trains and evaluates on."""

from pathlib import Path

from ict_core.config import Study
from ict_core.problems import study_problems
from ict_core.store import records


def run(study: Study, mirror: Path | None, train: Path, held_out: Path) -> None:
    """Write the problems to train on and those of all benchmarks (`held_out`), from the hub or its `mirror`."""
    training, evaluation = study_problems(study, mirror)
    records.write_frame(evaluation, held_out, records.PROBLEMS)
    records.write_frame(training, train, records.PROBLEMS)
