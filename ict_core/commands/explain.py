"""The subcommand that walks from a number in a table back to its runs."""

import argparse


def explain(options: argparse.Namespace) -> int:
    """Walk from a number in a table to its test, runs, samples, checkpoint, configuration and commit."""
    from ict_core.explain.explain import explain

    text, sound = explain(options.table, options.cell, options.samples)
    print(text, end="")
    return int(not sound)
