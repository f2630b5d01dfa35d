"""The ICT paper's figures, by the paper's numbers, from a study's stored results, and where to find its tables.

What each figure shows is known from third parties, as the pictures are not at hand. Numbers that the paper gives
(configs/paper.yaml) are beside the study's in the table `paper`. For a study that lacks arms the others are drawn, and
the missing ones are named.
"""

from pathlib import Path

from ict_core.evidence.stored import Stored
from ict_core.figures.panels import sentence
from ict_core.figures.registry import drawn
from ict_core.figures.write import write
from ict_core.statistics.schemas import BASE
from ict_core.store.files import write_text
from ict_core.store.layout import StudyFiles
from ict_core.tables.paper import Paper

_FRAMES = {"reward": ["log"], "split": ["quantities", "quantity_means"], "elbow": ["quantities", "curves"]}
_SHARES = ("grpo", "ict-10", "ict-20", "ict-30", "frequent-90")
PAPER_FIGURES = {
    "1": ("reward over training: all tokens, high entropy, ICT", ("grpo", "entropy-20", "ict-10"), "reward"),
    "3": ("reward over training by the share of tokens", _SHARES, "reward"),
    "4": ("tokens of high to tokens of low entropy among the kept ones", ("ict-10",), "split"),
    "A.4.1": ("sorted scores with their elbow", ("ict-10",), "elbow"),
}
"""The paper's number of a figure -> what it shows, its arms, and the module of `figures` that draws it."""
_NONE = "The study has none of the figure's methods."
_TABLES = """\
## Tables

Table 1 (every method, model and benchmark) is the study's table `main`. The ablation of the share is `thresholds`,
those of the score and the warm-up are in `ablations`. The table `paper` has the paper's own figures beside the study's.
"""


def paper_figures(stored: Path, results: Path, paper: Paper) -> None:
    """Draw every figure of the paper with the arms that the study has, and write a page of all of them."""
    study, files = Stored(stored, results), StudyFiles(results)
    settings = study.settings
    run_arms = {BASE, *settings.variants}
    parts = [
        f"# {settings.name}: the paper's figures and tables, by its numbers\n",
        f"**{study.note}**\n",
        f"What the paper ({paper.source}) shows under each number is told by third parties. Its Figure 2 is a drawing "
        "of the method.\n",
    ]
    for number, (shows, declared, module) in PAPER_FIGURES.items():
        arms = [arm for arm in declared if arm in run_arms]
        drawing = drawn(module, study, _FRAMES[module], variants=arms) if arms else sentence(_NONE)
        stem = f"figure-{number.lower().replace('.', '-')}"
        write(drawing, stem, files.paper, settings.note)
        parts.append(f"## Figure {number}: {shows}\n\n![Figure {number}]({stem}.png)\n")
        if missing := [f"`{arm}`" for arm in declared if arm not in run_arms]:
            parts.append(f"Without {', '.join(missing)}: not run in this study.\n")
    write_text(files.paper_page, "\n".join([*parts, _TABLES]))
