"""Every number that is shown."""

from ict_core.jobs.command import Given, Results, StoredFolder, command


@command("statistics", portable=True, writes="results")
def run(stored: StoredFolder, results: Results, claims: Given) -> None:
    """Compute runs, levels, contrasts and token statistics."""
    from ict_core.evidence.frames import study_frames
    from ict_core.statistics.schemas import STATISTICS
    from ict_core.store import records
    from ict_core.store.layout import StudyFiles

    for name, frame in study_frames(stored, claims).items():
        records.write_frame(frame, StudyFiles(results).statistics(name), STATISTICS[name])
