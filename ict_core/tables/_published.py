"""`configs/paper.yaml`: the figures that the paper printed."""

from collections import Counter
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ict_core.config import Name, Section, read_section
from ict_core.config.mistakes import Mistakes

Percent = Annotated[float, Field(ge=0, le=100)]
_ROUNDING = 0.0051  # a total printed with two decimals may be this far from the mean of its two columns


class Figures(Section):
    """One printed row, in percent; null where the paper gives no figure."""

    variant: Name
    pass_at_1: Percent | None
    pass_at_4: Percent | None
    total: Percent | None

    def shares(self) -> dict[str, float]:
        """Metric -> share; NaN where the paper gives none."""
        values = {"pass@1": self.pass_at_1, "pass@4": self.pass_at_4, "total": self.total}
        return {metric: float("nan") if v is None else v / 100 for metric, v in values.items()}

    def consistent(self) -> bool:
        """Whether the total is the mean of pass@1 and pass@4, or one of the three is missing."""
        if self.pass_at_1 is None or self.pass_at_4 is None or self.total is None:
            return True
        return abs(self.total - (self.pass_at_1 + self.pass_at_4) / 2) < _ROUNDING


class Averages(Section):
    """The averages over the seven benchmarks of one model; `named` are the project's names for the same model."""

    size: str = Field(min_length=1)
    model: str = Field(min_length=1)
    named: tuple[Name, ...]
    rows: tuple[Figures, ...] = Field(min_length=1)


class Ablation(Section):
    """One model's figures on one benchmark."""

    size: str = Field(min_length=1)
    benchmark: str = Field(min_length=1)
    rows: tuple[Figures, ...] = Field(min_length=1)


class Paper(Section):
    """The figures that the paper printed."""

    source: str = Field(min_length=1)
    averages: tuple[Averages, ...] = Field(min_length=1)
    ablation: Ablation


def read_paper(path: Path) -> Paper:
    """Read and check the published figures, `configs/paper.yaml`.

    Raises:
        UserError: the file is missing or wrong, or its ablation's size is none of the averages'; one line a problem,
            with file, key, value and what is allowed.
    """
    mistakes = Mistakes()
    paper: Paper | None = read_section(path, Paper, mistakes)
    if paper is None:
        mistakes.raise_if_any()
        raise AssertionError("a file that was not read has a problem")
    sizes = [averages.size for averages in paper.averages]
    if paper.ablation.size not in sizes:
        mistakes.refuse(path, "ablation.size", paper.ablation.size, f"one of {', '.join(sizes)}")
    places = {f"averages[{i}].rows": averages.rows for i, averages in enumerate(paper.averages)}
    for place, rows in {**places, "ablation.rows": paper.ablation.rows}.items():
        counts = Counter(row.variant for row in rows)
        for variant in sorted(variant for variant, count in counts.items() if count > 1):
            mistakes.add(path, place, f"{variant!r} stands more than once; allowed: each variant once")
    mistakes.raise_if_any()
    return paper
