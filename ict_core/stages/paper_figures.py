"""The paper's figures by the paper's numbers."""

from pathlib import Path

from ict_core.report import paper_figures
from ict_core.tables import read_paper


def run(stored: Path, results: Path, paper: Path) -> None:
    """Make them of what was measured (`stored`) and its statistics in `results`, beside the `paper`'s own figures."""
    paper_figures(stored, results, read_paper(paper))
