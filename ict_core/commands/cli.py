"""The ``ict`` command: one subcommand a stage, and the only place that takes paths."""

import argparse
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ict_core.commands import doctor, evidence, explain, shadow, stages, tools, verify
from ict_core.errors import Damaged, Transient, UserError
from ict_core.process import failures, numerics
from ict_core.process.job_log import hold_log, log_of_this
from ict_core.process.supervise import ATTEMPTS, RETRIES, end_with_parent
from ict_core.store.repository import CLAIMS, METHODS, study_file

_CELL = {"model": str, "variant": str, "seed": int}
_STUDY = "configs/studies/<study>.yaml, or <study> for that of the repository"
_PATHS = {
    "study": _STUDY,
    "stored": "the folder of study.json, scores.parquet, ...",
    "results": "the folder of statistics/, tables/, ...",
}
_METHOD = "configs/methods/<variant>.yaml: mark what this rule keeps as well; may be given several times"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand.

    A :class:`UserError`, and what :mod:`ict_core.process.failures` can explain, is printed without a traceback and
    gives status 2, or 75 where it may pass; an interrupt gives 130, SIGTERM 143, each after what was begun has been
    cleared away.
    """
    options = _parser().parse_args(arguments)
    if ATTEMPTS in os.environ:
        end_with_parent()
    hold_log()
    before = signal.signal(signal.SIGTERM, _end)
    try:
        if options.numerics is not None:
            numerics.use(options.numerics)
        status: int = options.run(options) or 0
        numerics.check()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except Exception as error:
        told = (
            error if isinstance(error, UserError) else failures.explain(error, options.run.__name__, _written(options))
        )
        if told is None:
            raise
        then = f"; {_mended(told.output)}" if isinstance(told, Damaged) else ""
        print(f"error: {told}{then}", file=sys.stderr)
        return os.EX_TEMPFAIL if isinstance(told, Transient) else 2
    finally:
        signal.signal(signal.SIGTERM, before)
        gc.freeze()  # else the process ends by collecting all that it holds, which takes up to a second
    return status


def _mended(output: Path) -> str:
    """What to do about a damaged output; a job of its own study sets it aside, and nothing else touches it."""
    from ict_core.jobs.damage import mend, set_aside
    from ict_core.store.layout import study_of

    log = log_of_this()
    study = study_of(log) if log else None
    if study is None or not output.resolve().is_relative_to(study):
        return mend(output)
    return f"set aside as {set_aside(output)}: run snakemake again, which makes {output} anew from the stage before"


def _end(number: int, _frame: Any) -> None:
    """End in order on SIGTERM, as if by an exception; a second one changes nothing."""
    signal.signal(number, signal.SIG_IGN)
    print("ended by SIGTERM", file=sys.stderr)
    sys.exit(128 + number)


def _written(options: argparse.Namespace) -> Path | None:
    """What a subcommand writes."""
    found = (getattr(options, name, None) for name in ("out", "results", "eval", "counts", "shadow"))
    return next(filter(None, found), None)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ict", description=__doc__.splitlines()[0])
    # a command that reads a study takes the study's numerics instead (`stages.load_study`); most others compute nothing
    parser.set_defaults(numerics=None)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Callable[[argparse.Namespace], int | None], paths: str, /, **named: type) -> Any:
        sub = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        for path in paths.split():
            kind = study_file if path == "study" else Path
            sub.add_argument(f"--{path}", type=kind, required=True, help=_PATHS.get(path))
        for option, kind in named.items():
            sub.add_argument(f"--{option}", type=kind, required=True)
        sub.set_defaults(run=run)
        return sub

    add("data", stages.data, "study train eval")
    add("contamination", stages.contamination, "study train eval counts pairs")
    add("pretrain", stages.pretrain, "study eval out", model=str)
    add("fetch-model", stages.fetch_model, "study out", model=str)
    train = add("train", stages.train, "study base problems out", **_CELL)
    train.add_argument("--stop-after", type=int, help="optimiser steps, for `ict verify` (default: the recipe's steps)")
    train.add_argument("--trackers", type=Path, help="a folder for the files of the trackers that the study names")
    generate = add("generate", stages.generate, "study checkpoint problems out manifest", **_CELL)
    generate.add_argument("--cache", type=Path, help="a folder: what is there is not sampled again (default: none)")
    add("completion-probe", stages.completion_probe, "study checkpoint problems out", model=str)
    add("completion-table", stages.completion_table, "study results")
    grade = add("grade", stages.grade, "study completions problems out manifest")
    grade.add_argument("--workers", type=int, default=1, help="processes of the grader (default: %(default)s)")
    add("settings", stages.settings, "study out")
    add("collect", stages.collect, "study results")
    again = add("regrade", stages.regrade, "study results out")
    again.add_argument("--stored", action="store_true", help="write the study's stored files under the new grades too")
    add("shadow-study", stages.shadow_study, "study tokens shadow overlap")
    shown = [
        add("statistics", evidence.statistics, "stored results claims"),
        add("tables", evidence.tables, "stored results paper"),
        add("figure", evidence.figure, "stored results", name=str),
        add("claims", evidence.claims, "stored results claims"),
        add("notebook", evidence.notebook, "stored results notebook"),
        add("report", evidence.report, "stored results"),
    ]
    for command in shown:
        command.set_defaults(numerics="portable")
    _add_tools(commands)
    _add_shadow(commands)
    _add_verify(commands)
    _add_explain(commands)
    return parser


class _Given(argparse.Action):
    """A positional argument that, where it is left out, leaves what its option or the default gave."""

    def __call__(self, _parser: Any, namespace: argparse.Namespace, values: Any, _option: str | None = None) -> None:
        if values is not None:
            setattr(namespace, self.dest, values)


def _add_tools(commands: Any) -> None:
    def add(name: str, run: Callable[[argparse.Namespace], int | None], *arms: str) -> Any:
        sub = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        for arm in arms:
            sub.add_argument(arm, help="a variant of the study")
        study = sub.add_mutually_exclusive_group()
        study.add_argument("--study", type=study_file, default="mini", metavar="STUDY", help="the same as an option")
        study.add_argument(
            "study", type=study_file, nargs="?", action=_Given, metavar="STUDY", help=f"{_STUDY} (default: mini)"
        )
        sub.set_defaults(run=run)
        return sub

    add("check", stages.check)
    add("doctor", doctor.doctor)
    add("diff", tools.diff, "A", "B")
    status = add("status", tools.status)
    status.add_argument("--results", type=Path, help="its folder (default: results/<study> of its repository)")
    plan = add("plan", tools.plan)
    plan.add_argument("--gpu", help="a key of gpus in configs/plan.yaml (default: its gpu)")
    plan.add_argument("--results", type=Path, help="the folder of finished jobs to measure by (default: the study's)")
    plan.add_argument("--no-dag", action="store_true", help="do not ask Snakemake what would run")
    tokens = commands.add_parser("tokens", help=tools.tokens.__doc__, description=tools.tokens.__doc__)
    tokens.add_argument("cell", type=Path, help="results/STUDY/MODEL/VARIANT/seed-N, or results/STUDY/MODEL/base")
    tokens.add_argument("--study", type=study_file, help=f"{_STUDY}; for a base model")
    tokens.add_argument("--problems", type=Path, help="a file of problems (default: the study's data/eval.parquet)")
    tokens.add_argument("--benchmark", help="problems of this benchmark only")
    tokens.add_argument("--count", type=int, default=4, help="prompts, drawn at random (default: 4)")
    tokens.add_argument("--seed", type=int, default=0, help="of the draw and the rollouts (default: 0)")
    tokens.add_argument("--method", type=Path, action="append", default=[], help=_METHOD)
    tokens.add_argument("--alternatives", type=int, default=5, help="likeliest tokens at each position (default: 5)")
    tokens.add_argument("--out", type=Path, help="the page (default: CELL/tokens.html)")
    tokens.set_defaults(run=tools.tokens, numerics="portable")
    lease = commands.add_parser("lease", help=tools.lease.__doc__, description=tools.lease.__doc__)
    lease.add_argument("--gpus", type=int, default=0, help="how many; with 0, the default, the command sees none")
    lease.add_argument("--retries", type=int, default=RETRIES, help="when it dies (default: %(default)s)")
    lease.add_argument("command", nargs="+", help="after --")
    lease.set_defaults(run=tools.lease)


def _add_shadow(commands: Any) -> None:
    command = commands.add_parser("shadow", help=shadow.shadow.__doc__, description=shadow.shadow.__doc__)
    command.add_argument("checkpoint", type=Path, help="a Hugging Face checkpoint folder")
    command.add_argument("--problems", type=Path, required=True, help="train or eval.parquet of results/STUDY/data")
    command.add_argument("--benchmark", help="draw from this benchmark's problems only")
    command.add_argument("--model", type=Path, help="configs/models/<model>.yaml, whose template the prompts stand in")
    command.add_argument("--methods", type=Path, default=METHODS, help="(default: the repository's configs/methods)")
    command.add_argument("--count", type=int, default=16, help="prompts, drawn at random (default: %(default)s)")
    command.add_argument("--group-size", type=int, default=8, help="rollouts a prompt (default: %(default)s)")
    command.add_argument("--temperature", type=float, default=1.0, help="of the rollouts (default: %(default)s)")
    command.add_argument("--max-new-tokens", type=int, default=112, help="of a rollout (default: %(default)s)")
    command.add_argument("--known-forks", action="store_true", help="the problems are the mini world's: mark its forks")
    command.add_argument("--seed", type=int, default=0, help="of prompts, rollouts and draws (default: %(default)s)")
    command.add_argument("--threads", type=int, default=1, help="of the CPU (default: %(default)s)")
    command.add_argument("--out", type=Path, required=True, help="receives tokens, shadow, overlap, gradients.parquet")
    command.set_defaults(run=shadow.shadow, numerics="portable")


def _add_verify(commands: Any) -> None:
    command = commands.add_parser("verify", help=verify.verify.__doc__, description=verify.verify.__doc__)
    cell = "results/STUDY/MODEL/VARIANT/seed-N, or results/STUDY/MODEL/base"
    whole = "with --against results/STUDY (default: the stored study's)"
    command.add_argument("cell", type=Path, nargs="?", help=f"{cell}; {whole}")
    command.add_argument("--against", type=Path, metavar="STORED", help="run nothing: compare with this stored run")
    command.add_argument("--study", type=study_file, help=f"{_STUDY} (default: STUDY)")
    command.add_argument("--stages", help="with commas: pretrain or train, generate, grade (default: all)")
    command.add_argument("--steps", type=int, help="train so many optimiser steps only, and compare these")
    command.add_argument("--keep", type=Path, help="an empty folder that receives the rerun (default: none is left)")
    command.set_defaults(run=verify.verify)


def _add_explain(commands: Any) -> None:
    command = commands.add_parser("explain", help=explain.explain.__doc__, description=explain.explain.__doc__)
    command.add_argument("table", type=Path, help="results/STUDY/tables/TABLE.csv, or results/STUDY/claims.json")
    rows = "MODEL/VARIANT/... in the order of the columns, or COLUMN=VALUE,...; of claims.json the claim's id"
    command.add_argument("--cell", required=True, help=rows)
    asked = "print this problem's question and gold answer, and each run's completions"
    command.add_argument("--samples", metavar="BENCHMARK/PROBLEM", help=asked)
    ledger = "that claims.json was made by (default: the repository's configs/claims.yaml)"
    command.add_argument("--claims", type=Path, default=CLAIMS, help=ledger)
    command.set_defaults(run=explain.explain)
