"""`configs/benchmarks/<name>.yaml`: one evaluation set, generated or published."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ict_core.config.published import PublishedSet
from ict_core.config.section import Count, Name, Section

ANSWER_TYPES = {"word": "math", "symbolic": "math", "stem": "choice", "science": "choice", "aime": "math"}
"""What the problems of each family ask for."""


class GeneratedBenchmark(Section):
    """A generated set of problems that stands in for a published benchmark; `data.seed` and its name draw it."""

    kind: Literal["generated"]
    name: Name
    mirrors: str = Field(min_length=1)
    family: Literal["word", "symbolic", "stem", "science", "aime"]
    problems: Count
    answer_type: Literal["math", "choice"]

    @property
    def drawn(self) -> int:
        """How many problems are used."""
        return self.problems


class PublishedBenchmark(PublishedSet):
    """A published benchmark, evaluated whole or on `problems` of its rows."""

    folder: ClassVar[str] = "benchmarks"

    kind: Literal["published"]
    mirrors: str = Field(min_length=1)  # the ICT paper's name of the set


Benchmark = Annotated[GeneratedBenchmark | PublishedBenchmark, Field(discriminator="kind")]
