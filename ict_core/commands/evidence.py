"""The subcommands that make from stored files all that is shown; none imports torch or vLLM."""

from ict_core.commands.app import command
from ict_core.commands.options import Given, Name, Results, Stored


@command("statistics", portable=True, writes="results")
def statistics(stored: Stored, results: Results, claims: Given) -> None:
    """Compute runs, levels, contrasts, second views, components and what is said of tokens."""
    from ict_core.stages import statistics

    statistics.run(stored, results, claims)


@command("tables", portable=True, writes="results")
def tables(stored: Stored, results: Results, paper: Given) -> None:
    """Make every table."""
    from ict_core.stages import tables

    tables.run(stored, results, paper)


@command("figure", portable=True, writes="results")
def figure(stored: Stored, results: Results, name: Name) -> None:
    """Make one figure."""
    from ict_core.stages import figure

    figure.run(stored, results, name)


@command("claims", portable=True, writes="results")
def claims(stored: Stored, results: Results, claims: Given) -> None:
    """Test every claim of the ledger."""
    from ict_core.stages import claims as stage

    stage.run(stored, results, claims)


@command("notebook", portable=True, writes="results")
def notebook(stored: Stored, results: Results, notebook: Given) -> None:
    """Execute a notebook on the study."""
    from ict_core.report.notebook import execute

    execute(notebook, stored, results)


@command("report", portable=True, writes="results")
def report(stored: Stored, results: Results) -> None:
    """Write the overview, the report and the manifests' page."""
    from ict_core.report.build import write_report

    write_report(stored, results)
