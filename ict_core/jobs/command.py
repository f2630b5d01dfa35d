"""How a subcommand of `ict` is declared and run, its exit status, and the options that several subcommands share."""

import functools
import gc
import inspect
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer import Argument, BadParameter, Option
from typer.core import TyperGroup

from ict_core.errors import Damaged, UserError, visible
from ict_core.process import failures, numerics
from ict_core.process.job_log import hold_log, tell_end
from ict_core.process.lifeline import end_with_run
from ict_core.process.supervise import end_with_parent
from ict_core.store.layout import repository, study_file

if TYPE_CHECKING:
    from ict_core.config.study import Study
    from ict_core.config.study_file import Cell

_RANK = "ACCELERATE_MIXED_PRECISION"  # `accelerate launch` sets it for the processes that it starts
STUDY = "configs/studies/<study>.yaml, or <study> for that of the repository"
GRADING: dict[str, Any] = {"seconds": 5.0, "memory_mib": 1024}  # limits of one answer, if no study states them
CELL = "results/STUDY/MODEL/VARIANT/seed-N, or results/STUDY/MODEL/base"

StudyFile = Annotated[Path, Option("--study", parser=study_file, metavar="STUDY", help=STUDY)]
MaybeStudyFile = Annotated[Path | None, Option("--study", parser=study_file, metavar="STUDY", help=STUDY)]
Given = Annotated[Path, Option()]  # a path that must be given
HeldOut = Annotated[Path, Option("--eval", help="the evaluation problems")]
Name = Annotated[str, Option()]
BaseNumber = Annotated[int, Option("--seed", help="the number of the base model, where there are several")]
StoredFolder = Annotated[Path, Option(help="the folder of study.json, scores.parquet, ...")]
MaybeCells = Annotated[Path | None, Option(help="finished cells that are stored on their own (default: none)")]
Results = Annotated[Path, Option(help="the folder of statistics/, tables/, ...")]


def above_0(value: float) -> float:
    """An option's value; an error if it is 0 or less, or NaN."""
    if not value > 0:
        raise BadParameter(f"{value:g} is not allowed; allowed: above 0")
    return value


@dataclass(frozen=True)
class AnyStudy:
    """A study, given as an argument or as an option; without either it is `mini`."""

    argument: Annotated[
        Path | None, Argument(parser=study_file, metavar="[STUDY]", help=f"{STUDY} (default: mini)")
    ] = None
    study: Annotated[
        Path | None, Option("--study", parser=study_file, metavar="STUDY", help="the same as an option")
    ] = None

    @property
    def file(self) -> Path:
        """The study's file; an error if both forms are given."""
        if self.argument is not None and self.study is not None:
            raise UserError(f"--study {self.study}: not allowed with argument {self.argument}; name the study once")
        return self.argument or self.study or study_file("mini")


@dataclass(frozen=True)
class OneCell:
    """A cell of a study."""

    study: StudyFile
    model: Name
    variant: Name
    seed: Annotated[int, Option()]

    def of(self, loaded: "Study", trained: bool = False) -> "Cell":
        """The cell, which must answer the benchmarks, or with `trained` be trained; an error if there is none."""
        from ict_core.config.study_file import Cell

        cell = Cell(self.model, self.variant, self.seed)
        allowed = [*loaded.trained_cells(), *loaded.later_cells()] if trained else loaded.evaluated_cells()
        if cell not in allowed:
            seeds = [c.seed for c in allowed if c[:2] == cell[:2]]
            hint = f"its seeds there: {seeds}" if seeds else "see the study's grid"
            raise UserError(f"{self.study}: no cell {cell.folder}; {hint}")
        return cell


def load_study(path: Path) -> "Study":
    """:func:`ict_core.config.load.load_study`, imported only by the commands that read a study."""
    from ict_core.config.load import load_study

    return load_study(path)


def study_to_run(path: Path) -> "Study":
    """Read a study and set its numerics for all later imports; a stage calls this before it imports anything else."""
    study = load_study(path)
    numerics.use(study.numerics)
    return study


def study_of_model(path: Path, model: str, downloads: bool = False) -> "Study":
    """:func:`study_to_run` for a stage of one of its models; an error if it has no such model."""
    study = study_to_run(path)
    if model not in study.models:
        raise UserError(f"{path}: no model {model}; allowed: {', '.join(study.models)}")
    if not downloads:
        prepare()
    return study


def prepare() -> None:
    """Set the variables that libraries read on import; the stages that may download do not call this."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # transformers' too: the stages show their own progress
    os.environ["HF_HUB_OFFLINE"] = "1"


def mirror_of(study: "Study", file: Path) -> Path | None:
    """The folder that a study uses instead of the hub, if it names one."""
    return repository(file) / study.data.mirror if study.data.mirror else None


STUDY_GROUP, MODEL_GROUP, STAGE_GROUP = GROUPS = "A study", "A model", "Stages, each called by a rule of the workflow"
"""The headings under which `ict --help` lists the subcommands."""


class _Grouped(TyperGroup):
    """Lists the subcommands under the headings of their groups."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        listed = {name: found for name, found in self.commands.items() if not found.hidden}
        room = formatter.width - 6 - max(map(len, listed))
        for group in GROUPS:
            of_group = {name: found for name, found in listed.items() if found.rich_help_panel == group}  # type: ignore[attr-defined]
            with formatter.section(group):
                formatter.write_dl([(name, found.get_short_help_str(room)) for name, found in of_group.items()])


app = typer.Typer(
    cls=_Grouped,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"max_content_width": 120},
)
FIRST = """\
ict: token selection in RLVR, of a study and of single models

  ict check                             can this machine run the study `mini`? what to mend
  snakemake --cores all                 run it; then open results/mini/overview.html
  ict status                            how far each of its cells is
  ict eval MODEL --benchmarks gsm8k     one model on benchmarks, without a study
  ict add-model MODEL                   a model's file, for a study of your own

`ict --help` lists all commands, `ict COMMAND --help` tells one; docs/index.md is where the pages begin.
"""


@app.callback(invoke_without_command=True)
def first(context: typer.Context) -> None:
    """One subcommand for each stage of a study, and others for direct use."""
    if context.invoked_subcommand is None:
        print(FIRST, end="")


Command = TypeVar("Command", bound=Callable[..., int | None])


def command(
    name: str, group: str = STAGE_GROUP, *, portable: bool = False, writes: str = "out", hidden: bool = False
) -> Callable[[Command], Command]:
    """Declare a function with annotated arguments as a subcommand; it returns its exit status, None for 0.

    An argument that is a dataclass stands for one option per field. `writes` is the option that names what the command
    writes, for the message if that cannot be written. Its numerics may be `portable`; a command that reads a study
    takes the study's (:func:`study_to_run`), and most others compute nothing.
    """

    def declare(function: Command) -> Command:
        arguments = inspect.signature(function).parameters
        groups: dict[str, Any] = {k: a.annotation for k, a in arguments.items() if is_dataclass(a.annotation)}

        @functools.wraps(function)
        def run(**options: Any) -> None:
            written = options.get(writes)
            for key, group in groups.items():
                options[key] = group(**{field.name: options.pop(field.name) for field in fields(group)})
            raise typer.Exit(_run(functools.partial(function, **options), name, portable, written))

        single: list[inspect.Parameter] = []
        for key, argument in arguments.items():
            single += inspect.signature(groups[key]).parameters.values() if key in groups else [argument]
        signature = inspect.Signature([option.replace(kind=option.KEYWORD_ONLY) for option in single])
        run.__signature__ = signature  # type: ignore[attr-defined]  # typer reads it
        app.command(name, hidden=hidden, rich_help_panel=group)(run)
        return function

    return declare


def _run(function: Callable[[], int | None], name: str, portable: bool, written: Path | None) -> int:
    """Run one subcommand.

    A :class:`UserError`, or an error that :mod:`ict_core.process.failures` can explain, is printed without a traceback
    and gives status 2. An interrupt gives 130 and SIGTERM 143, each after unfinished work has been cleared away.
    """
    if _RANK in os.environ:
        end_with_parent()
    holds_log = hold_log()
    received: list[int] = []
    status = 1
    before = signal.signal(signal.SIGTERM, functools.partial(_end, received))
    try:
        end_with_run()
        if portable:
            numerics.use("portable")
        ended = function() or 0
        numerics.check()
        status = ended
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except Exception as error:
        if received:  # a library has turned the SystemExit into an error, as a C++ module does on import
            return 128 + received[0]
        explained = error if isinstance(error, UserError) else failures.explain(error, name, written)
        if explained is None:
            raise
        advice = f"; delete {explained.output} and run snakemake again" if isinstance(explained, Damaged) else ""
        lines = f"error: {explained}{advice}".split("\n")
        print("\n".join(map(visible, lines)), file=sys.stderr)
        return 2
    finally:
        signal.signal(signal.SIGTERM, before)
        if holds_log:
            tell_end(succeeded=status == 0)
        gc.freeze()  # otherwise a last garbage collection of all objects takes up to a second
    return status


def _end(told: list[int], number: int, _frame: Any) -> None:
    """End in order on SIGTERM, as if by an exception; a second SIGTERM changes nothing."""
    signal.signal(number, signal.SIG_IGN)
    told.append(number)
    print("ended by SIGTERM", file=sys.stderr)
    sys.exit(128 + number)
