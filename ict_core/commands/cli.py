"""The ``ict`` command: one subcommand a stage, and those that people use beside."""

from collections.abc import Sequence

from ict_core.commands import forkserver, rollouts, stages, tools  # noqa: F401  # which declare the subcommands
from ict_core.commands.app import app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand.

    Returns:
        its exit status; 2 where the arguments are not those of a subcommand.
    """
    try:
        app(args=arguments, prog_name="ict")
    except SystemExit as end:  # as each ends
        return end.code if isinstance(end.code, int) else 0
    return 0
