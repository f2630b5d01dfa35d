"""The ICT paper's figures and tables under the paper's own numbers, from a study's stored results.

What each shows is told by third parties, as the pictures themselves are not at hand; where the paper gives figures
(configs/paper.yaml) they stand beside the study's. A study that lacks arms shows the others and names what is missing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from ict_core.evidence import Stored
from ict_core.figures import write
from ict_core.markdown import markdown_table
from ict_core.statistics import AVERAGE, BASE, METRICS, PASS_METRICS
from ict_core.store import StudyFiles, write_text
from ict_core.tables import NONE, Figures, Paper, percent_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAIN = ("grpo", "entropy-20", "stapo", "ict-10")
_SHARES = ("grpo", "ict-10", "ict-20", "ict-30", "frequent-90", "random-10")


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper: its number, what it shows, and the arms that it needs."""

    number: str
    shows: str
    arms: tuple[str, ...]
    draw: Callable[[Stored, Sequence[str]], "Figure"]

    @property
    def stem(self) -> str:
        """Of its files."""
        return f"figure-{self.number.lower().replace('.', '-')}"


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper: what it is called, what it shows, its arms, and on which benchmark (None: on all)."""

    name: str
    shows: str
    arms: tuple[str, ...]
    on: str | None


def _rewards(study: Stored, arms: Sequence[str]) -> "Figure":
    from ict_core.figures import reward

    return reward.draw(study.frame("log"), arms)


def _split(study: Stored, arms: Sequence[str]) -> "Figure":
    from ict_core.figures import split

    return split.draw(study.frame("quantities"), study.frame("quantity_means"), arms)


def _elbow(study: Stored, arms: Sequence[str]) -> "Figure":
    from ict_core.figures import elbow

    return elbow.draw(study.frame("quantities"), study.frame("curves"), arms)


PAPER_FIGURES = (
    PaperFigure("1", "reward over training: all tokens, high entropy, ICT", ("grpo", "entropy-20", "ict-10"), _rewards),
    PaperFigure("3", "reward over training by the share of tokens", _SHARES[:-1], _rewards),
    PaperFigure("4", "tokens of high to tokens of low entropy among the kept ones", ("ict-10",), _split),
    PaperFigure("A.4.1", "sorted scores with their elbow", ("ict-10",), _elbow),
)
PAPER_TABLES = (
    PaperTable("Table 1", "pass@1 / pass@4 / Total of every method, model and benchmark", (BASE, *_MAIN), None),
    PaperTable("Ablation of the share", "pass@1 / pass@4 by the share of tokens", (BASE, *_SHARES), "GSM8K"),
    PaperTable(
        "Ablation of the score",
        "pass@1 / pass@4 by the score (the paper gives an order: JS, Wasserstein, KL)",
        ("ict-10", "wasserstein-10", "kl-10", "random-10"),
        "GSM8K",
    ),
    PaperTable(
        "Ablation of the warm-up",
        "pass@1 / pass@4 by the steps that train every token first (the paper: 10, 20, 40; little difference)",
        ("ict-10-w10", "ict-10-w20", "ict-10-w40"),
        "GSM8K",
    ),
)


def paper_figures(stored: Path, results: Path, paper: Paper) -> None:
    """Draw every figure and write every table of the paper that the study has arms for, and a page of all of them."""
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
        write(_drawn(figure, study, arms), figure.stem, files.paper, settings.note)
        parts += [f"![Figure {figure.number}]({figure.stem}.png)\n", _missing(figure.arms, ran)]
    for table in PAPER_TABLES:
        parts += [f"## {table.name}: {table.shows}\n", _table(table, study.frame("levels"), settings.mirrors, paper)]
        parts.append(_missing(table.arms, ran))
    write_text(files.paper_page, "\n".join(filter(None, parts)))


def _drawn(figure: PaperFigure, study: Stored, arms: Sequence[str]) -> "Figure":
    from matplotlib import rc_context

    from ict_core.figures import RC, sentence

    with rc_context(RC):
        return figure.draw(study, arms) if arms else sentence("The study has none of the figure's methods.")


def _missing(arms: Sequence[str], ran: set[str]) -> str:
    missing = [f"`{arm}`" for arm in arms if arm not in ran]
    return f"Without {', '.join(missing)}: not run in this study.\n" if missing else ""


def _table(table: PaperTable, levels: pd.DataFrame, mirrors: dict[str, str], paper: Paper) -> str:
    """A row a model and method; a column a benchmark with all metrics, and the paper's own figures."""
    wanted = [ours for ours, theirs in mirrors.items() if table.on in (None, theirs)]
    columns = [*wanted, AVERAGE] if table.on is None else wanted
    metrics = METRICS if table.on is None else PASS_METRICS
    value = {
        (row["model"], row["variant"], row["benchmark"], row["metric"]): percent_interval(
            row["mean"], row["low"], row["high"]
        )
        for row in levels.to_dict("records")
    }
    rows: list[list[str]] = []
    for model in dict.fromkeys(levels["model"]):
        for arm in table.arms:
            keys = [[(model, arm, column, metric) for metric in metrics] for column in columns]
            if keys and all(key in value for cell in keys for key in cell):
                cells = [" / ".join(value[key] for key in cell) for cell in keys]
                rows.append([model, f"`{arm}`", *cells])
    for size, figures in _published(table, paper):
        shares = [figures.shares()[metric] for metric in metrics]
        cells = [NONE] * (len(columns) - 1) + [" / ".join(NONE if x != x else f"{100 * x:.2f}" for x in shares)]
        rows.append([f"the paper, {size}", f"`{figures.variant}`", *cells])
    heads = ["model", "method", *(f"{name} ({mirrors[name]})" if name in mirrors else name for name in columns)]
    return markdown_table(heads, rows, "ll" + "r" * len(columns)) if rows and columns else ""


def _published(table: PaperTable, paper: Paper) -> list[tuple[str, Figures]]:
    """What the paper printed of the table's arms: averages over its benchmarks, or its ablation."""
    if table.on is None:
        rows = [(averages.size, row) for averages in paper.averages for row in averages.rows]
    else:
        rows = [(paper.ablation.size, row) for row in paper.ablation.rows]
    return [(size, row) for size, row in rows if row.variant in table.arms]
