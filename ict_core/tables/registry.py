"""The declarations of the tables, by name, read without importing their modules."""

from dataclasses import dataclass
from pathlib import Path

from ict_core.evidence.declarations import Shown, read_declarations
from ict_core.statistics.schemas import SIGN_FLIP_FROM
from ict_core.store.layout import StudyFiles

COMPARED = (
    f"paired by seed; p by the deciding test (t below {SIGN_FLIP_FROM} seeds, sign-flip from there), corrected within "
    "the family: Holm (declared), Benjamini and Hochberg (others)"
)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a table's numbers come from."""

    keys: tuple[str, ...]  # the columns that identify a row
    made: str  # how its numbers are made, in words
    compared: bool = False  # whether they include the tests of the contrasts
    module: str  # the library's file that computes them
    doc: str  # the page and heading that describe it
    source: str = "scores"  # the measured frame that it is computed from
    statistics: str | None = None  # the frame of `statistics/` that is printed; None where its columns differ
    runs: tuple[str, ...] = ("variant",)  # columns that name the variants whose runs enter, with commas; () if none
    follow: bool = False  # whether `mean` is over the first variant's runs, `difference` over the paired differences

    @property
    def file(self) -> str:
        """The path of the source frame, from the study's folder."""
        return StudyFiles(Path()).frame(self.source).as_posix()

    @property
    def words(self) -> str:
        return f"{self.made}, {COMPARED}" if self.compared else self.made


@dataclass(frozen=True, kw_only=True)
class TableDeclaration(Shown, Origin):
    """The declaration of a table, whose module <name> has the function ``<name>_table``.

    The function's arguments are the frames named in `inputs`, by these names, and `settings`, a `TableSettings`.
    """


TABLES = read_declarations(Path(__file__).parent, "TABLE", TableDeclaration)  # by the name of the module that makes it
INPUTS = tuple(dict.fromkeys(["levels", *(frame for table in TABLES.values() for frame in table.inputs)]))
"""The frames that the tables are made from. The levels are always among them: they say which variants ran."""
