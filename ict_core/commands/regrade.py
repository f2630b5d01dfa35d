"""The subcommand that says what another grader makes of a study's stored completions."""

import argparse

from ict_core.commands.stages import study_to_run


def regrade(options: argparse.Namespace) -> None:
    """List the answers whose verdict flipped where a study's completions were graded anew."""
    study = study_to_run(options.study)
    from ict_core.tools.regrade import regrade

    flipped = regrade(study, options.results, options.out, options.stored)
    for change, number in (flipped["old_status"] + " -> " + flipped["new_status"]).value_counts().items():
        print(f"{change}: {number}")
    print(f"{len(flipped)} verdicts flipped; see {options.out / 'flips.md'} and {options.out / 'changes.md'}")
