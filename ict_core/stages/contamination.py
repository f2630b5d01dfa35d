"""What the evaluation sets share with the training data."""

from pathlib import Path

from ict_core.config import Study
from ict_core.contamination import audit
from ict_core.store import records


def run(study: Study, train: Path, held_out: Path, counts: Path, pairs: Path) -> None:
    """Compare evaluation problems with those to train on: ``records.CONTAMINATION``, ``records.NEAR_DUPLICATES``."""
    training, evaluation = (records.read_frame(path, records.PROBLEMS) for path in (train, held_out))
    by_benchmark, near = audit(training, evaluation, study.grading.dump())
    records.write_frame(near, pairs, records.NEAR_DUPLICATES)
    records.write_frame(by_benchmark, counts, records.CONTAMINATION)
    print(by_benchmark.to_string(index=False))
