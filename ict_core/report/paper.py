"""The ICT paper's figures under the paper's own numbers, from a study's stored results, and where its tables are.

What each shows is told by third parties, as the pictures themselves are not at hand; where the paper gives figures
(configs/paper.yaml) they stand beside the study's in the table `paper`. A study that lacks arms shows the others and
names what is missing.
"""

from pathlib import Path
from typing import NamedTuple

from ict_core.evidence.stored import Stored
from ict_core.figures.panels import sentence
from ict_core.figures.registry import drawn
from ict_core.figures.write import write
from ict_core.statistics.schemas import BASE
from ict_core.store.files import write_text
from ict_core.store.layout import StudyFiles
from ict_core.tables.paper import Paper


class PaperFigure(NamedTuple):
    """A figure of the paper: what it shows, its arms, and the module of `figures` that draws it of these frames."""

    shows: str
    arms: tuple[str, ...]
    module: str
    frames: tuple[str, ...]


_REWARD = ("reward", ("log",))
_SHARES = ("grpo", "ict-10", "ict-20", "ict-30", "frequent-90")
_SPLIT = ("split", ("quantities", "quantity_means"))
_ELBOW = ("elbow", ("quantities", "curves"))
PAPER_FIGURES = {
    "1": PaperFigure("reward over training: all tokens, high entropy, ICT", ("grpo", "entropy-20", "ict-10"), *_REWARD),
    "3": PaperFigure("reward over training by the share of tokens", _SHARES, *_REWARD),
    "4": PaperFigure("tokens of high to tokens of low entropy among the kept ones", ("ict-10",), *_SPLIT),
    "A.4.1": PaperFigure("sorted scores with their elbow", ("ict-10",), *_ELBOW),
}
"""By the paper's numbers."""
_NONE = "The study has none of the figure's methods."
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
    for number, figure in PAPER_FIGURES.items():
        arms = [arm for arm in figure.arms if arm in ran]
        made = drawn(figure.module, study, figure.frames, variants=arms) if arms else sentence(_NONE)
        stem = f"figure-{number.lower().replace('.', '-')}"
        write(made, stem, files.paper, settings.note)
        parts.append(f"## Figure {number}: {figure.shows}\n\n![Figure {number}]({stem}.png)\n")
        if missing := [f"`{arm}`" for arm in figure.arms if arm not in ran]:
            parts.append(f"Without {', '.join(missing)}: not run in this study.\n")
    write_text(files.paper_page, "\n".join([*parts, _TABLES]))
