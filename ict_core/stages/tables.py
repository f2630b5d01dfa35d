"""Every table of a study."""

from pathlib import Path

from ict_core.evidence import Stored
from ict_core.store import StudyFiles
from ict_core.tables import INPUTS, TableSettings, build_tables, read_paper


def run(stored: Path, results: Path, paper: Path) -> None:
    """Make every table of what was measured (`stored`), its statistics in `results`, and the `paper`'s own figures."""
    study = Stored(stored, results)
    s = study.settings
    bounds, printed = (s.margin, s.power), read_paper(paper)
    shown = TableSettings(
        s.variants, s.baselines, s.mirrors, *bounds, printed, s.arms, s.recipe_rate, s.kept, study.averaged
    )
    frames = {name: study.frame(name) for name in INPUTS}
    build_tables(frames, shown, study.note, StudyFiles(results).tables, study.mixed)
