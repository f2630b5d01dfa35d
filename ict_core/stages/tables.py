"""Every table of a study."""

from ict_core.jobs.command import Given, Results, StoredFolder, command


@command("tables", portable=True, writes="results")
def run(stored: StoredFolder, results: Results, paper: Given) -> None:
    """Make every table."""
    from ict_core.evidence import Stored
    from ict_core.store import StudyFiles
    from ict_core.tables import INPUTS, TableSettings, build_tables, read_paper

    study = Stored(stored, results)
    s = study.settings
    settings = TableSettings(
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
        sources=s.whole.get("sources"),
    )
    frames = {name: study.frame(name) for name in INPUTS}
    build_tables(frames, settings, study.note, StudyFiles(results).tables, study.mixed)
