"""All tables of a study, from the frames of its statistics."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ict_core.evidence import Stored
from ict_core.statistics import AVERAGE, Graded
from ict_core.tables._registry import INPUTS, TABLES
from ict_core.tables._table import Frames, Table, TableSettings, restricted
from ict_core.tables._write import write
from ict_core.tables.paper import Paper


def make_tables(frames: Frames, settings: TableSettings, averaged: Sequence[str] | None = None) -> list[Table]:
    """The tables of :data:`TABLES`, in order; one with numbers from samples not all of which were graded says so.

    The average is over the benchmarks `averaged`, by default over all.
    """
    shown = restricted(frames, settings.variants)
    graded, tables = Graded(shown["scores"], averaged), []
    for name, declared in TABLES.items():
        maker = getattr(import_module(f"ict_core.tables.{name}"), f"{name}_table")
        table: Table = maker(**{frame: shown[frame] for frame in declared.inputs}, settings=settings)
        tables.append(
            _with_notices(replace(table, name=name, title=declared.title), declared.against, graded, settings)
        )
    return tables


def _with_notices(table: Table, against: str | None, graded: Graded, settings: TableSettings) -> Table:
    """The table, with a column `notice` in its CSV and a sentence in its caption where a number needs one.

    `against` is the arm whose runs enter every row, beside those that its columns name.
    """
    if "metric" not in table.numbers:
        return table
    places = {theirs: ours for ours, theirs in settings.mirrors.items()}  # of the paper's benchmarks

    def notice(row: Mapping[Any, Any]) -> str:
        arms = [row[column] for column in ("variant", "baseline", "reference") if column in row]
        arms += [against] if against else []
        benchmark = row.get("benchmark", AVERAGE)
        return graded.notice(row["model"], arms, [places.get(benchmark, benchmark)], [row["metric"]])

    notices = [notice(row) for row in table.numbers.to_dict("records")]
    if not any(notices):
        return table
    caption = f"{table.caption} {graded.sentence()} The column `notice` of the CSV says of which numbers."
    return replace(table, numbers=table.numbers.assign(notice=notices), caption=caption)


def build_tables(study: Stored, paper: Paper, out: Path) -> list[Path]:
    """Write every table of a study into the folder `out`, and name the files.

    Raises:
        UserError: a variant without a level; nothing is written then.
    """
    frames = {name: study.frame(name) for name in INPUTS}
    tables = make_tables(frames, TableSettings(**vars(study.settings), paper=paper), study.averaged)
    return [path for table in tables for path in write(table, out, study.note, study.mixed)]
