"""The subcommands of `ict` by name, for tests that read their arguments and run nothing."""

import typer

from ict_core.commands import cli
from ict_core.jobs.command import app

cli.declare()
SUBCOMMANDS = typer.main.get_command(app).commands
