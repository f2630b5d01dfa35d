"""The report of a study: its tables and figures in one Markdown page, and what they can and cannot say."""

import os
from collections.abc import Mapping
from pathlib import Path

from ict_core.errors import UserError
from ict_core.figures.registry import FIGURES
from ict_core.tables.build import TABLES

MINIATURE = "miniature"

_TITLES = dict(zip(TABLES, ("Main results", "Contrasts", "Fraction of tokens kept", "Answer statuses"), strict=True))

_READING = """\
## How to read this report

- **What is compared.** pass@k is Chen et al.'s (2021) unbiased estimate from the graded samples of each problem. \
Problems are averaged within a benchmark, benchmarks within a run (each weighs the same), and runs last. A training \
run is one observation, identified by its seed; its problems and samples are not independent observations of a method.
- **What is tested.** The difference between two variants' pass@1, and pass@4, of the average over the benchmarks: a \
two-sided paired t-test of the runs, paired by seed, with Holm's correction over all tests of the contrasts table. \
Nothing else in this report is a test. The captions and the columns `seeds` say over how many seeds.
- **What the intervals mean.** They are 95 % t-intervals over training seeds: they speak for new runs on these \
problems, not for new problems. With one seed there is no interval and no test (—).
- **What to expect.** At 3 seeds a t-test has 2 degrees of freedom, and "not resolved" is the usual honest outcome. \
It means that the runs cannot tell the two variants apart; it does not mean that they are equal.
"""

_SCALE = """\
**This study is a miniature.** It shows that the harness runs and what it measures there. Its results do not speak \
for the paper's scale: neither an effect nor its absence carries over to the paper's models, data and training length.
"""


def render(study_name: str, note: str, tables: Mapping[str, str], figures: Mapping[str, str]) -> str:
    """The report as Markdown.

    Args:
        study_name: its title.
        note: the study's own line, "" for none; one that says "miniature" brings a warning about scale.
        tables: each table's name in `tables.build.TABLES` -> its Markdown (the text of <name>.md).
        figures: each figure's name -> the image's path relative to the report.

    Raises:
        UserError: a table is missing or unknown.
    """
    if set(tables) != set(TABLES):
        missing, unknown = sorted(set(TABLES) - set(tables)), sorted(set(tables) - set(TABLES))
        raise UserError(f"report of {study_name}: tables missing {missing}, unknown {unknown}; build the tables first")
    parts = [f"# {study_name}\n"]
    if note:
        parts.append(f"{note}\n")
    if MINIATURE in note.lower():
        parts.append(_SCALE)
    parts.append(_READING)
    parts += [f"## {_TITLES[name]}\n\n{tables[name].strip()}\n" for name in TABLES]
    if figures:
        parts.append("## Figures\n")
        parts += [f"![{name}]({path})\n" for name, path in figures.items()]
    return "\n".join(parts)


def write_report(study_name: str, note: str, tables: Path, figures: Path, out: Path) -> None:
    """Write :func:`render` of the tables and figures in two folders; image links are relative to the report."""
    shown = {name: (tables / f"{name}.md").read_text(encoding="utf-8") for name in TABLES}
    images = {name: os.path.relpath(figures / f"{name}.png", out.parent) for name in FIGURES}
    partial = out.with_name(out.name + ".partial")
    partial.write_text(render(study_name, note, shown, images), encoding="utf-8")
    partial.replace(out)
