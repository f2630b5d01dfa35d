"""What is said of a published data set, evaluation or training alike: where its rows are, and which they must be."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ict_core.config.section import Count, Name, Section

READERS = {
    file.stem.replace("_", "-"): f"problems.published.readers.{file.stem}"
    for file in sorted((Path(__file__).parents[1] / "problems/published/readers").glob("[!_]*.py"))
}
"""Who turns a row into a problem: a module of the library by the name that is given under `reader`."""

HubId = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$",
        description="an id of the Hugging Face hub, owner/name",
    ),
]
Part = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9][\w.-]*$", description="a name of the hub's: letters, digits, '.', '-' and '_'"),
]


class Prompt(Section):
    """How a question is put: `{question}` stands for it, `{options}` for the options A to D of a multiple choice."""

    template: str = Field(min_length=1)
    source: str = Field(min_length=1)


class MirrorCopy(Section):
    """Where a mirror keeps rows that it holds under another name than the hub's."""

    hub: HubId
    config: Part
    split: Part
    columns: tuple[Part, ...] = Field(min_length=1)


class PublishedSet(Section):
    """A data set of the Hugging Face hub with all that pins its content."""

    folder: ClassVar[str] = "data"

    name: Name
    reader: str  # a name in READERS
    paper: str = Field(min_length=1)
    hub: HubId
    configs: tuple[Part, ...] = Field(
        min_length=1, description="a list of one or more configs of the hub's (default, where it has one unnamed)"
    )
    split: Part
    revision: str = Field(description="a commit of the data set on the hub: 40 hexadecimal digits")
    allow_unpinned: bool = False  # true: the revision may be a branch, and row count and sha256 alone pin the content
    rows: Count  # that are left after the reader's choice
    sha256: str | None = Field(
        pattern=r"^[0-9a-f]{64}$",
        description="the content hash, 64 hexadecimal digits (null for a gated set that this project may not read)",
    )
    gated: bool = False  # true: its licence must be accepted on the hub, and HF_TOKEN is needed
    licence: str = Field(min_length=1)
    columns: tuple[str, ...] = Field(min_length=1)  # what the reader reads; others are dropped
    answer_type: Literal["integer", "number", "latex", "choice"]
    prompt: Prompt
    mirror_copy: MirrorCopy | None = None
    problems: Count | None = None  # drawn from the rows by `data.seed`; absent: all

    @property
    def drawn(self) -> int:
        """How many problems are used."""
        return self.problems or self.rows

    @property
    def file(self) -> str:
        """The file that states it, for messages."""
        return f"configs/{self.folder}/{self.name}.yaml"


class TrainingSet(PublishedSet):
    """`configs/data/<name>.yaml`: a published set that a study trains on."""
