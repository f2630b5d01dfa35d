"""`configs/benchmarks/<name>.yaml`: one evaluation set."""

from typing import Literal

from pydantic import Field

from ict_core.config.section import Count, Name, Section

ANSWER_TYPES = {"word": "math", "symbolic": "math", "stem": "choice", "science": "choice", "aime": "math"}
"""What the problems of each family ask for."""


class Benchmark(Section):
    """A generated set of problems that stands in for a published benchmark; `data.seed` and its name draw it."""

    name: Name
    mirrors: str = Field(min_length=1)
    family: Literal["word", "symbolic", "stem", "science", "aime"]
    problems: Count
    answer_type: Literal["math", "choice"]
