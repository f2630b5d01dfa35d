"""All tables of a study, from the frames of its statistics."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ict_core.statistics.graded import Graded
from ict_core.statistics.names import AVERAGE
from ict_core.tables.ablation import ablation_table
from ict_core.tables.beside_paper import paper_table
from ict_core.tables.components import components_table
from ict_core.tables.compute import compute_table
from ict_core.tables.contamination import contamination_table, near_duplicates_table
from ict_core.tables.contrasts import contrasts_table
from ict_core.tables.forks import fork_table
from ict_core.tables.frames import Frames, TableSettings, restricted
from ict_core.tables.main import main_table
from ict_core.tables.shadow import shadow_table
from ict_core.tables.single_logit import single_logit_table
from ict_core.tables.statements import statements_table
from ict_core.tables.statuses import status_table
from ict_core.tables.table import Table
from ict_core.tables.thresholds import REFERENCE, threshold_table
from ict_core.tables.titles import TITLES
from ict_core.tables.update import update_table
from ict_core.tables.views import views_table
from ict_core.tables.write import write


@dataclass(frozen=True)
class Entry:
    """A table of the report: its title, and what makes it from the frames and the settings."""

    title: str
    maker: Callable[[Frames, TableSettings], Table]


TABLES = {
    "main": Entry(TITLES["main"], lambda f, s: main_table(f.levels, f.contrasts, s)),
    "contrasts": Entry(TITLES["contrasts"], lambda f, s: contrasts_table(f.contrasts, s)),
    "views": Entry(TITLES["views"], lambda f, s: views_table(f.views, s)),
    "thresholds": Entry(TITLES["thresholds"], lambda f, s: threshold_table(f.levels, f.contrasts, s.variants)),
    "ablations": Entry(TITLES["ablations"], lambda f, s: ablation_table(f.levels, f.contrasts, s.arms)),
    "shadow": Entry(TITLES["shadow"], lambda f, s: shadow_table(f.rule_means, s)),
    "forks": Entry(TITLES["forks"], lambda f, s: fork_table(f.fork_means, s)),
    "statements": Entry(TITLES["statements"], lambda f, s: statements_table(f.quantity_means, s)),
    "single_logit": Entry(TITLES["single_logit"], lambda f, _: single_logit_table(f.single_logit)),
    "update": Entry(TITLES["update"], lambda f, s: update_table(f.agreement_means, s)),
    "paper": Entry(TITLES["paper"], lambda f, s: paper_table(f.levels, s)),
    "compute": Entry(TITLES["compute"], lambda f, s: compute_table(f.compute, list(f.levels["model"]), s.variants)),
    "statuses": Entry(TITLES["statuses"], lambda f, s: status_table(f.scores, s.variants)),
    "components": Entry(TITLES["components"], lambda f, s: components_table(f.components, s)),
    "contamination": Entry(TITLES["contamination"], lambda f, s: contamination_table(f.contamination, s)),
    "near_duplicates": Entry(TITLES["near_duplicates"], lambda f, s: near_duplicates_table(f.near_duplicates, s)),
}
"""By name, in the report's order."""


def make_tables(frames: Frames, settings: TableSettings) -> list[Table]:
    """The tables of :data:`TABLES`, in that order; one with numbers from samples not all of which were graded says so.

    Raises:
        UserError: a variant without a level.
    """
    shown = restricted(frames, settings.variants)
    graded = Graded(shown.scores)
    made = (replace(entry.maker(shown, settings), title=entry.title) for entry in TABLES.values())
    return [_with_notices(table, graded, settings) for table in made]


def _with_notices(table: Table, graded: Graded, settings: TableSettings) -> Table:
    """The table, with a column `notice` in its CSV and a sentence in its caption where a number needs one."""
    if "metric" not in table.numbers:
        return table
    places = {theirs: ours for ours, theirs in settings.mirrors.items()}  # of the paper's benchmarks

    def notice(row: Mapping[Any, Any]) -> str:
        arms = [row[column] for column in ("variant", "baseline", "reference") if column in row]
        arms += [REFERENCE] if table.name == "thresholds" else []
        benchmark = row.get("benchmark", AVERAGE)
        return graded.notice(row["model"], arms, [places.get(benchmark, benchmark)], [row["metric"]])

    notices = [notice(row) for row in table.numbers.to_dict("records")]
    if not any(notices):
        return table
    caption = f"{table.caption} {graded.sentence()} The column `notice` of the CSV says of which numbers."
    return replace(table, numbers=table.numbers.assign(notice=notices), caption=caption)


def build_tables(frames: Frames, settings: TableSettings, note: str, out: Path, mixed: str = "") -> list[Path]:
    """Write every table of :func:`make_tables` as CSV, Markdown, LaTeX and HTML into the folder `out`.

    Args:
        frames: the study's frames.
        settings: what the tables know of the study beside them.
        note: a line for every table, for example that the study is a miniature; "" for none.
        out: the folder; made where it is missing.
        mixed: a sentence for a column `mixed` of every CSV file, if the study's jobs are of several kinds.

    Returns:
        The files written: <name>.csv, .md, .tex, .html for each name in :data:`TABLES`.

    Raises:
        UserError: as :func:`make_tables`; nothing is written then.
    """
    return [path for table in make_tables(frames, settings) for path in write(table, out, note, mixed)]
