"""The subcommand that `ict` starts for itself: a server that forks its jobs."""

from typing import Annotated

import typer

from ict_core.commands.app import command
from ict_core.commands.options import Given, MaybeStudyFile
from ict_core.commands.stages import prepare, study_to_run, unused_in_training
from ict_core.process import loading, numerics


@command("forkserver", writes="address", hidden=True)
def forkserver(
    kind: Annotated[str, typer.Option(help="of jobs: see ict_core.process._forkserver")],
    address: Given,
    study: MaybeStudyFile = None,
) -> None:
    """Import what jobs of a kind need once, and fork a process for each of them."""
    from ict_core.commands.cli import main
    from ict_core.process import end_with_parent, serve

    loaded = study_to_run(study) if study else None
    prepare()

    def preload() -> None:
        """Make the imports of the jobs, as their subcommands make them."""
        if loaded is None:
            numerics.use("portable")
            from ict_core.figures import FIGURES, draw  # noqa: F401
            from ict_core.stages import claims, figure, statistics, tables  # noqa: F401
        elif kind == "pretrain":
            with loading(without=("scipy",)):
                from ict_core.stages import pretrain  # noqa: F401
        elif kind == "train":
            cells = [unused_in_training(loaded.training_of(cell.model, cell.variant)) for cell in loaded.cells()]
            with loading(without=_common(cells)):
                from ict_core.stages import train  # noqa: F401
        elif kind == "generate":
            from ict_core.evaluation import import_engine
            from ict_core.stages import generate

            with loading(without=_common([generate.unused(model) for model in loaded.models.values()])):
                import_engine(loaded.evaluation.engine)
        else:
            from ict_core.stages import grade  # noqa: F401

    def job(arguments: list[str]) -> int:
        end_with_parent()
        return main(arguments)

    serve(address, preload, job)


def _common(packages: list[tuple[str, ...]]) -> tuple[str, ...]:
    """What each of the tuples holds."""
    return tuple(sorted(set.intersection(*map(set, packages))))
