"""The readings of all models of a study: one frame, a table and a figure."""

from ict_core.jobs.command import Given, Results, StudyFile, command, study_to_run
from ict_core.stages.readings import ranges_of


@command("readings-pages", writes="results")
def run(study: StudyFile, results: Results, claims: Given) -> None:
    """Make the frame, the table and the figure of all readings of a study."""
    loaded = study_to_run(study)
    import pandas as pd
    from matplotlib import rc_context

    from ict_core.figures import readings
    from ict_core.figures.panels import RC
    from ict_core.figures.write import write as write_figure
    from ict_core.store import records
    from ict_core.store.layout import StudyFiles
    from ict_core.store.manifests import manifest, remember_source, write_manifest
    from ict_core.tables.readings import readings_table
    from ict_core.tables.write import write as write_table

    remember_source()
    files = StudyFiles(results)
    paths = {cell: files.readings(*cell) for cell in loaded.cells_read()}
    frames = {cell: records.read_frame(path, records.READINGS) for cell, path in paths.items()}
    all_readings = pd.concat([frame.assign(model=cell.model, variant=cell.variant) for cell, frame in frames.items()])
    out, manifest_file, *_ = files.reading_pages
    records.write_frame(all_readings, out, records.STUDY_READINGS)
    hashes = {cell.folder: records.content_hash(path) for cell, path in paths.items()}
    write_manifest(manifest_file, manifest(loaded.stage_config("read_tokens")) | {"stage": "readings", "read": hashes})
    pages = StudyFiles(out.parent)
    write_table(readings_table(all_readings), pages.tables, loaded.note)
    with rc_context(RC):
        figure = readings.draw(all_readings, ranges_of(claims))
    write_figure(figure, "readings", pages.figures, loaded.note)
    print(f"{len(all_readings)} readings of {len(paths)} models, each on two sets of prompts")
