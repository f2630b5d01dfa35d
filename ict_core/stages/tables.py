"""Every table of a study."""

from dataclasses import fields
from pathlib import Path

from ict_core.evidence.stored import Stored
from ict_core.store.layout import StudyFiles
from ict_core.tables.build import build_tables
from ict_core.tables.frames import Frames, TableSettings
from ict_core.tables.paper import read_paper


def run(stored: Path, results: Path, paper: Path) -> None:
    """Make every table.

    Args:
        stored: the folder of what was measured.
        results: that of the statistics; receives ``tables/``.
        paper: the figures of the paper that stand beside ours.
    """
    study = Stored(stored, results)
    s = study.settings
    shown = TableSettings(s.variants, s.baselines, s.mirrors, s.margin, s.power, read_paper(paper), s.arms)
    frames = Frames(*(study.frame(field.name) for field in fields(Frames)))
    build_tables(frames, shown, study.note, StudyFiles(results).tables, study.mixed)
