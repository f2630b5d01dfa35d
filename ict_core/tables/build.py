"""All tables of a study, from the frames of its statistics."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

from ict_core.evidence.gates import without_verdicts
from ict_core.evidence.stored import Stored
from ict_core.tables.paper import Paper
from ict_core.tables.registry import INPUTS, TABLES
from ict_core.tables.table import Frames, Table, TableSettings, restricted
from ict_core.tables.write import write


def make_tables(frames: Frames, settings: TableSettings) -> list[Table]:
    """The tables of :data:`TABLES`, in order."""
    restricted_frames, tables = restricted(frames, settings.variants), []
    for name, declaration in TABLES.items():
        maker = getattr(import_module(f"ict_core.tables.{name}"), f"{name}_table")
        table: Table = maker(**{frame: restricted_frames[frame] for frame in declaration.inputs}, settings=settings)
        tables.append(replace(table, name=name, title=declaration.title))
    return tables


def build_tables(study: Stored, paper: Paper, out: Path) -> list[Path]:
    """Write every table of a study into the folder `out` and return the files; errors as for :func:`restricted`."""
    frames = {name: study.frame(name) for name in INPUTS}
    tables = make_tables(frames, TableSettings(**vars(study.settings), paper=paper))
    qualified_note = " ".join(filter(None, [study.note, without_verdicts(frames["validity"])]))
    notes = {
        name: qualified_note if "contrasts" in declaration.inputs else study.note
        for name, declaration in TABLES.items()
    }
    return [path for table in tables for path in write(table, out, notes[table.name], study.mixed)]
