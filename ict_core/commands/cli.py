"""The ``ict`` command: one subcommand a stage, and those that people use beside."""

from collections.abc import Sequence
from typing import Annotated

from typer import Option

from ict_core.commands import evaluation, stages, tools  # noqa: F401  # which declare the subcommands
from ict_core.commands.app import Given, MaybeStudyFile, app, command
from ict_core.commands.stages import UNUSED_IN_PRETRAINING, prepare, study_to_run, unused_in_training
from ict_core.process import end_with_parent, loading, numerics, serve


@command("forkserver", writes="address", hidden=True)
def forkserver(
    kind: Annotated[str, Option(help="of jobs: see ict_core.process._forkserver")],
    address: Given,
    study: MaybeStudyFile = None,
) -> None:
    """Import what jobs of a kind need once, and fork a process for each of them."""
    loaded = study_to_run(study) if study else None
    prepare()

    def preload() -> None:  # makes the imports of the jobs, as their subcommands make them
        if loaded is None:
            numerics.use("portable")
            from ict_core.report import write_report  # noqa: F401
            from ict_core.stages import claims, figure, statistics, tables  # noqa: F401
        elif kind == "pretrain":
            with loading(without=UNUSED_IN_PRETRAINING):
                from ict_core.stages import pretrain  # noqa: F401
        elif kind == "train":
            cells = [
                unused_in_training(loaded.training_of(cell.model, cell.variant)) for cell in loaded.trained_cells()
            ]
            with loading(without=_common(cells)):
                from ict_core.stages import train  # noqa: F401
        elif kind == "generate":
            from ict_core.evaluation import preload_engine
            from ict_core.stages import generate

            with loading(without=_common([generate.unused(model) for model in loaded.models.values()])):
                preload_engine(loaded.evaluation.engine)
        else:
            from ict_core.stages import grade  # noqa: F401

    def job(arguments: list[str]) -> int:
        end_with_parent()
        return main(arguments)

    serve(address, preload, job)


def _common(packages: list[tuple[str, ...]]) -> tuple[str, ...]:
    """What each of the tuples holds."""
    return tuple(sorted(set.intersection(*map(set, packages))))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns its exit status, 2 where the arguments are not those of a subcommand."""
    try:
        app(args=arguments, prog_name="ict")
    except SystemExit as end:  # as each ends
        return end.code if isinstance(end.code, int) else 0
    return 0
