"""What a table's module declares, and every table by its name: read without importing the modules."""

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

    keys: tuple[str, ...]  # the columns that name a row
    made: str  # what made its numbers, in words
    compared: bool = False  # whether what made them ends with the tests of the contrasts
    module: str  # the library's file that does it
    doc: str  # the page and heading that describe it
    source: str = "scores"  # the measured frame that it is computed from
    statistics: str | None = None  # the frame of `statistics/` that is printed; none where its columns differ
    runs: tuple[str, ...] = ("variant",)  # columns that name variants whose runs enter, with commas; () if none
    follow: bool = False  # whether `mean` is the first variant's runs', `difference` that of the paired differences

    @property
    def file(self) -> str:
        """The source, from the study's folder."""
        return StudyFiles(Path()).frame(self.source).as_posix()

    @property
    def words(self) -> str:
        return f"{self.made}, {COMPARED}" if self.compared else self.made


@dataclass(frozen=True, kw_only=True)
class TableDeclaration(Shown, Origin):
    """A table, whose module <name> has the function ``<name>_table``.

    Its arguments are the frames of `inputs`, by these names, and `settings`, the `TableSettings`.
    """


TABLES = read_declarations(Path(__file__).parent, "TABLE", TableDeclaration)  # by the module here that makes it
INPUTS = tuple(dict.fromkeys(["levels", *(frame for table in TABLES.values() for frame in table.inputs)]))
"""The frames that they are made from; the levels say which variants ran."""
