"""The subcommands that make from stored files all that is shown; none imports torch or vLLM."""

import argparse


def statistics(options: argparse.Namespace) -> None:
    """Compute runs, levels, contrasts, second views and components."""
    from ict_core.stages import statistics

    statistics.run(options.stored, options.results, options.claims)


def tables(options: argparse.Namespace) -> None:
    """Make every table."""
    from ict_core.stages import tables

    tables.run(options.stored, options.results, options.paper)


def figure(options: argparse.Namespace) -> None:
    """Make one figure."""
    from ict_core.stages import figure

    figure.run(options.stored, options.results, options.name)


def claims(options: argparse.Namespace) -> None:
    """Test every claim of the ledger."""
    from ict_core.stages import claims

    claims.run(options.stored, options.results, options.claims)


def notebook(options: argparse.Namespace) -> None:
    """Execute a notebook on the study."""
    from ict_core.report.notebook import execute

    execute(options.notebook, options.stored, options.results)


def report(options: argparse.Namespace) -> None:
    """Write the overview, the report and the manifests' page."""
    from ict_core.report.build import write_report

    write_report(options.stored, options.results)
