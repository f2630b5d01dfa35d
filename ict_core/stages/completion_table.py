"""The table of all models' completion probes."""

from pathlib import Path

from ict_core.config import Study
from ict_core.store import StudyFiles, records
from ict_core.tables import write
from ict_core.tables.completion_probe import completion_probe_table


def run(study: Study, results: Path) -> None:
    """Write the table of what every base model of the study knows of the benchmarks' questions."""
    files = StudyFiles(results)
    frames = {model: files.completion_probe(model) for model in study.models}
    probes = {model: records.read_frame(frame, records.COMPLETION_PROBE) for model, frame in frames.items()}
    write(completion_probe_table(probes, study.benchmarks), files.tables, study.note)
