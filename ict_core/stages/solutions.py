"""The worked solutions with which a supervised start trains."""

from pathlib import Path

from ict_core.config import Study
from ict_core.problems import solved_problems
from ict_core.store import records


def run(study: Study, mirror: Path | None, out: Path) -> None:
    """Write the solutions of all problems of the study's training sets, from the hub or its `mirror`."""
    records.write_frame(solved_problems(study, mirror), out, records.SOLUTIONS)
