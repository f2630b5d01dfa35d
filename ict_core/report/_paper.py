"""The ICT paper's figures under the paper's own numbers, from a study's stored results, and where its tables are.

What each shows is told by third parties, as the pictures themselves are not at hand; where the paper gives figures
(configs/paper.yaml) they stand beside the study's in the table `paper`. A study that lacks arms shows the others and
names what is missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ict_core.evidence import Stored
from ict_core.figures import write
from ict_core.statistics import BASE
from ict_core.store import StudyFiles, write_text
from ict_core.tables import Paper

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper: its number, what it shows, its arms, and the module of `figures` with its frames."""

    number: str
    shows: str
    arms: tuple[str, ...]
    module: str
    frames: tuple[str, ...]

    @property
    def stem(self) -> str:
        """Of its files."""
        return f"figure-{self.number.lower().replace('.', '-')}"

    def draw(self, study: Stored, arms: Sequence[str]) -> "Figure":
        """Of these arms, or a sentence where there are none."""
        from matplotlib import rc_context

        from ict_core.figures import RC, sentence

        with rc_context(RC):
            if not arms:
                return sentence("The study has none of the figure's methods.")
            drawn: Figure = import_module(f"ict_core.figures.{self.module}").draw(*map(study.frame, self.frames), arms)
        return drawn


_SHARES = ("grpo", "ict-10", "ict-20", "ict-30", "frequent-90")
PAPER_FIGURES = (
    PaperFigure(
        "1",
        "reward over training: all tokens, high entropy, ICT",
        ("grpo", "entropy-20", "ict-10"),
        "reward",
        ("log",),
    ),
    PaperFigure("3", "reward over training by the share of tokens", _SHARES, "reward", ("log",)),
    PaperFigure(
        "4",
        "tokens of high to tokens of low entropy among the kept ones",
        ("ict-10",),
        "split",
        ("quantities", "quantity_means"),
    ),
    PaperFigure("A.4.1", "sorted scores with their elbow", ("ict-10",), "elbow", ("quantities", "curves")),
)
_TABLES = """\
## Tables

Table 1 (every method, model and benchmark) is the study's table `main`. The ablation of the share is `thresholds`,
those of the score and the warm-up are in `ablations`. The table `paper` has the paper's own figures beside the study's.
"""


def paper_figures(stored: Path, results: Path, paper: Paper) -> None:
    """Draw every figure of the paper that the study has arms for, and write a page of all of them."""
    study, files = Stored(stored, results), StudyFiles(results)
    settings = study.settings
    ran = {BASE, *settings.variants}
    parts = [
        f"# {settings.name}: the paper's figures and tables, by its numbers\n",
        f"**{study.note}**\n",
        f"What the paper ({paper.source}) shows under each number is told by third parties. Its Figure 2 is a drawing "
        "of the method.\n",
    ]
    for figure in PAPER_FIGURES:
        arms = [arm for arm in figure.arms if arm in ran]
        parts.append(f"## Figure {figure.number}: {figure.shows}\n")
        write(figure.draw(study, arms), figure.stem, files.paper, settings.note)
        parts.append(f"![Figure {figure.number}]({figure.stem}.png)\n")
        if missing := [f"`{arm}`" for arm in figure.arms if arm not in ran]:
            parts.append(f"Without {', '.join(missing)}: not run in this study.\n")
    write_text(files.paper_page, "\n".join([*parts, _TABLES]))
