"""Every table of a study."""

from pathlib import Path

from ict_core.evidence import Stored
from ict_core.store import StudyFiles
from ict_core.tables import INPUTS, TableSettings, build_tables, read_paper


def run(stored: Path, results: Path, paper: Path) -> None:
    """Make every table of what was measured (`stored`), its statistics in `results`, and the `paper`'s own figures."""
    study = Stored(stored, results)
    s = study.settings
    shown = TableSettings(
        variants=s.variants,
        baselines=s.baselines,
        mirrors=s.mirrors,
        margin=s.margin,
        power=s.power,
        paper=read_paper(paper),
        arms=s.arms,
        recipe_rate=s.recipe_rate,
        kept=s.kept,
        averaged=study.averaged,
    )
    frames = {name: study.frame(name) for name in INPUTS}
    build_tables(frames, shown, study.note, StudyFiles(results).tables, study.mixed)
