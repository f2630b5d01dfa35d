"""The subcommand that walks from a number in a table, or of a claim, back to its runs."""

import argparse

from ict_core.errors import Damaged


def explain(options: argparse.Namespace) -> int:
    """Walk from a number in a table or of a claim to its test, runs, samples, checkpoint, configuration and commit."""
    from ict_core.jobs.damage import mend
    from ict_core.tools.explain.explain import explain

    try:
        text, sound = explain(options.table, options.cell, options.samples, options.claims)
    except Damaged as error:  # of the study's own files: there is nothing to walk along
        text, sound = f"[BROKEN] {error}\n\nNOT SOUND: a file is damaged; {mend(error.output)}\n", False
    print(text, end="")
    return int(not sound)
