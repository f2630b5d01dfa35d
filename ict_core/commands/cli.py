"""The ``ict`` command: one subcommand per stage, and those that people use directly."""

import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated

from typer import Option

from ict_core import stages
from ict_core.commands import comparison, evaluation, rollouts, tools  # noqa: F401  # they declare subcommands, as stages do
from ict_core.jobs.command import Given, MaybeStudyFile, app, command, prepare, study_to_run
from ict_core.process import numerics
from ict_core.process.forkserver import serve
from ict_core.process.supervise import end_with_parent

STAGES = {module.name.replace("_", "-"): module.name for module in iter_modules(stages.__path__)}
"""The module that declares each stage's subcommand."""


def declare(name: str | None = None) -> None:
    """Import the stage of that subcommand, so that a job loads no other; for another name all, in order."""
    for module in [STAGES[name]] if name in STAGES else STAGES.values():
        import_module(f"{stages.__name__}.{module}")
    app.registered_commands.sort(key=lambda declared: STAGES.get(declared.name or "", ""))  # whatever the import order


@command("forkserver", writes="address", hidden=True)
def forkserver(
    kind: Annotated[str, Option(help="of jobs: see ict_core.process.forkserver")],
    address: Given,
    study: MaybeStudyFile = None,
) -> None:
    """Import what jobs of a kind need once, and fork a process for each of them."""
    loaded = study_to_run(study) if study else None
    prepare()

    def preload() -> None:
        if loaded is None:
            numerics.use("portable")
            from ict_core.evidence.frames import study_frames  # noqa: F401
            from ict_core.figures.registry import draw  # noqa: F401
            from ict_core.figures.write import write  # noqa: F401
            from ict_core.report.build import write_report  # noqa: F401
            from ict_core.report.ledger import write_claims  # noqa: F401
            from ict_core.tables.build import build_tables  # noqa: F401
        else:
            import_module(f"{stages.__name__}.{kind}").preload(loaded)

    def job(arguments: list[str]) -> int:
        end_with_parent()
        return main(arguments)

    serve(address, preload, job)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns its exit status, 2 if the arguments are not those of a subcommand."""
    name = next(iter(sys.argv[1:] if arguments is None else arguments), None)
    if name not in {declared.name for declared in app.registered_commands}:
        declare(name)
    try:
        app(args=arguments, prog_name="ict")
    except SystemExit as end:  # every subcommand ends so
        return end.code if isinstance(end.code, int) else 0
    return 0
