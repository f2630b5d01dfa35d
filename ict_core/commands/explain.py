"""The subcommand that walks from a number in a table, or of a claim, back to its runs."""

import argparse


def explain(options: argparse.Namespace) -> int:
    """Walk from a number in a table or of a claim to its test, runs, samples, checkpoint, configuration and commit."""
    from ict_core.explain.explain import explain

    text, sound = explain(options.table, options.cell, options.samples, options.claims)
    print(text, end="")
    return int(not sound)
