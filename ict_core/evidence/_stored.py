"""A study's files as frames: what was measured, and what the statistics stage made of it."""

from functools import cache, cached_property
from pathlib import Path

import pandas as pd

from ict_core.errors import UserError
from ict_core.evidence._origins import mixture_note
from ict_core.evidence._settings import Settings, read_settings
from ict_core.statistics import STATISTICS
from ict_core.store import StudyFiles, read_manifest, records

MEASURED = {
    "scores": records.SCORES,
    "log": records.STUDY_LOG,
    "tokens": records.STUDY_TOKENS,
    "shadow": records.STUDY_SHADOW,
    "overlap": records.STUDY_OVERLAP,
    "compute": records.COMPUTE,
    "contamination": records.CONTAMINATION,
    "near_duplicates": records.NEAR_DUPLICATES,
}


class Stored:
    """The frames of one study by name, each read when it is first asked for.

    Args:
        stored: the folder with the files `StudyFiles.measured`.
        results: the folder into which the statistics stage wrote; None where it has not run.
    """

    def __init__(self, stored: Path, results: Path | None = None) -> None:
        self._files, self._made = StudyFiles(stored), StudyFiles(results) if results is not None else None
        self.frame = cache(self._read)

    @property
    def settings(self) -> Settings:
        """The study's settings."""
        return read_settings(self._files.settings)

    @property
    def note(self) -> str:
        """What every table says of the study: its own note, and whether its jobs are of one kind."""
        return " ".join(filter(None, [self.settings.note, self.mixed]))

    @cached_property
    def mixed(self) -> str:
        """A sentence if the study's jobs are of several kinds, else an empty text."""
        return mixture_note(read_manifest(self._files.manifest))

    def _read(self, name: str) -> pd.DataFrame:
        """A study's frame: one of :data:`MEASURED` or of `schemas.STATISTICS`.

        Raises:
            UserError: there is no such frame, or its file is missing or of another schema.
        """
        if name in MEASURED:
            return records.read_frame(self._files.frame(name), MEASURED[name])
        if name in STATISTICS and self._made is not None:
            return records.read_frame(self._made.statistics(name), STATISTICS[name])
        raise UserError(f"frame {name!r} is unknown; allowed: {', '.join([*MEASURED, *STATISTICS])}")
