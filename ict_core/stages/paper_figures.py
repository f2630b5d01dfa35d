"""The paper's figures, numbered as in the paper."""

from ict_core.jobs.command import Given, Results, StoredFolder, command


@command("paper-figures", portable=True, writes="results")
def run(stored: StoredFolder, results: Results, paper: Given) -> None:
    """Make the paper's figures, numbered as in the paper, beside the paper's own results."""
    from ict_core.report.paper import paper_figures
    from ict_core.tables.paper import read_paper

    paper_figures(stored, results, read_paper(paper))
