"""The subcommands of `ict` by name, for tests that read their arguments and run nothing."""

import typer

from ict_core.commands import cli  # noqa: F401  # declares them
from ict_core.jobs.command import app

SUBCOMMANDS = typer.main.get_command(app).commands
