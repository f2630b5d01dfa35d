"""`ict eval`: one model's answers to any of the benchmarks, without a study's file."""

import hashlib
import json
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeGuard

from typer import Argument, Option

from ict_core.errors import TooMuch, UserError
from ict_core.jobs.command import GRADING, MODEL_GROUP, above_0, command, prepare
from ict_core.process import numerics
from ict_core.process.job_log import try_lock
from ict_core.process.numerics import Numerics
from ict_core.store.files import remove
from ict_core.store.layout import REPOSITORY

if TYPE_CHECKING:
    import pandas as pd

    from ict_core.config.inputs import Benchmark, Model
    from ict_core.config.study_file import Evaluation
    from ict_core.models.fetch import Fetched

_BENCHMARKS, _MODELS = REPOSITORY / "configs/benchmarks", REPOSITORY / "configs/models"
_SEED = 0
_CACHE, _CHECKPOINT = "cache", "model"  # folders of answers and of the model
_HARDWARE: dict[str, Any] = {  # for a model on a GPU; a generation takes one, and the rest is for trainings
    **{"accelerate": "one-gpu", "gpus": 1, "micro_batch_sequences": 8, "gradient_checkpointing": False},
    **{"memory_gib": 16, "train_hours": 1.0, "generate_hours": 12.0},
}


@dataclass(frozen=True)
class Sampled:
    """How the answers are sampled and graded."""

    samples: Annotated[int, Option(min=1, help="answers a problem, n of pass@k")] = 8
    temperature: Annotated[float, Option(callback=above_0, help="of the sampling, above 0")] = 1.0
    top_p: Annotated[float, Option(callback=above_0, max=1, help="of the sampling")] = 1.0
    max_new_tokens: Annotated[int, Option(min=1, help="of an answer")] = 1024
    engine: Annotated[Literal["vllm", "transformers"], Option(help="vllm or transformers")] = "vllm"
    threads: Annotated[int, Option(min=1, help="of the CPU, and processes of the grader")] = 1
    portable: Annotated[
        bool, Option("--portable", help="the same bytes on every x86-64 CPU, at about two thirds of the speed")
    ] = False

    def evaluation(self) -> "Evaluation":
        """The evaluation as a study states it."""
        from pydantic import ValidationError

        from ict_core.config.mistakes import faults_of
        from ict_core.config.study_file import Evaluation

        try:
            return Evaluation(**{key: value for key, value in asdict(self).items() if key != "portable"})
        except ValidationError as error:
            message = "; ".join(f"--{key.replace('_', '-')}: {text}" for key, text in faults_of(error, Evaluation))
            raise UserError(message) from None


@dataclass(frozen=True)
class Asked:
    """Which problems are asked, and where they come from."""

    benchmarks: Annotated[str, Option(help="names of configs/benchmarks, with commas: gsm8k,math-500")]
    problems: Annotated[
        int | None, Option(min=1, max=10_000, help="of each benchmark, drawn at random (default: all)")
    ] = None
    mirror: Annotated[Path | None, Option(help="a folder of OWNER/NAME/CONFIG/SPLIT.jsonl in place of the hub")] = None

    @property
    def names(self) -> list[str]:
        """The names of the benchmarks."""
        return [name.strip() for name in self.benchmarks.split(",")]

    def sets(self) -> "dict[str, Benchmark]":
        """The benchmarks by name, as their files state them."""
        from ict_core.config.load import load_benchmark

        return {name: load_benchmark(_BENCHMARKS / f"{name}.yaml", self.problems) for name in self.names}

    def nearest(self) -> "Asked | None":
        """The same with each benchmark once, and the nearest known name for an unknown one; None if none is near."""
        found = [name if name in _known(_BENCHMARKS) else _nearest(name, _known(_BENCHMARKS)) for name in self.names]
        return None if None in found else replace(self, benchmarks=",".join(dict.fromkeys(filter(None, found))))

    def check(self) -> None:
        """Raise a UserError, before anything is fetched, if a benchmark is not known or named twice."""
        from ict_core.config.mistakes import one_of

        known_names = _known(_BENCHMARKS)
        for name in self.names:
            if name not in known_names:
                raise UserError(f"--benchmarks: {name!r} is not allowed; {one_of(known_names)}")
            if self.names.count(name) > 1:
                raise UserError(f"--benchmarks: {name!r} is named more than once; allowed: each benchmark once")


def _known(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.yaml"))


def _evaluated() -> list[str]:
    """The project's models that no study trains first."""
    from ict_core.config.load import load_model

    models = {}
    for name in _known(_MODELS):
        with suppress(UserError):  # a file that is still to be mended
            models[name] = load_model(_MODELS / f"{name}.yaml")
    return [name for name, model in models.items() if _only_fetched(model)]


def _only_fetched(model: "Model") -> "TypeGuard[Fetched]":
    """Whether the base model is a checkpoint as it is fetched: no study pretrains it, or trains it on solutions."""
    return model.kind != "pretrained-from-scratch" and model.supervised_start is None


def _nearest(name: str, known: list[str]) -> str | None:
    return next(iter(get_close_matches(name, known, 1)), None)


def _mended(model: str | None, asked: Asked | None, sampled: Sampled, out: Path | None) -> str:
    """The text after a refusal: the corrected call, as typed in a shell; empty if it is not known."""
    if model is None or asked is None:
        return ""
    words, options = ["ict", "eval", model], {**asdict(asked), **asdict(sampled), "out": out}
    defaults = {option.name: option.default for option in (*fields(Asked), *fields(Sampled))}
    for key, value in options.items():
        if value is not None and value != defaults.get(key):
            words += [f"--{key.replace('_', '-')}", *([] if value is True else [str(value)])]
    return f"\n  {shlex.join(words)}"


@command("eval", MODEL_GROUP)
def evaluate(
    model: Annotated[str, Argument(help="a checkpoint's folder, its id on the hub, or a name of configs/models")],
    asked: Asked,
    sampled: Sampled,
    out: Annotated[
        Path | None, Option(help="a new folder: results.json, answers.parquet (default: eval-MODEL)")
    ] = None,
) -> None:
    """Let one model answer benchmarks, grade the answers, and print pass@k with intervals."""
    started = time.perf_counter()
    try:
        asked.check()
    except UserError as error:
        raise UserError(f"{error}{_mended(model, asked.nearest(), sampled, out)}") from None
    chosen: Numerics = "portable" if sampled.portable else "native"
    numerics.use(chosen)
    name = re.sub(r"[^a-z0-9._-]", "-", Path(model.rstrip("/")).name.lower()).lstrip("._-")[:40] or "model"
    folder = out or Path(f"eval-{name}")
    result = folder / "results.json"
    if result.exists():
        raise UserError(f"{result}: is there already; give another --out, or remove the folder")
    with work_folder(folder, repr((str(Path(model).absolute()), asked, sampled))) as work:
        try:
            stated = stated_model(work, model, name)
        except UserError as error:
            nearest_model = None if model in _known(_MODELS) else _nearest(model, _evaluated())
            raise UserError(f"{error}{_mended(nearest_model, asked, sampled, out)}") from None
        evaluation, sets = sampled.evaluation(), asked.sets()
        from ict_core.evidence.evaluated import benchmark_results, result_lines
        from ict_core.markdown import markdown_table
        from ict_core.problems.assemble import benchmark_problems
        from ict_core.store import records
        from ict_core.store.manifests import manifest, remember_source, write_json

        remember_source()
        problems = benchmark_problems(sets, _SEED, asked.mirror)
        try:
            answers, facts = _answers(work, name, stated, evaluation, problems)
        except TooMuch as error:
            remove(work / _CHECKPOINT)  # the call that is printed has a folder of its own
            shorter = replace(sampled, max_new_tokens=error.most) if error.most > 0 else None
            raise UserError(f"{error}{_mended(model, asked, shorter, out) if shorter else ''}") from None

        config = {
            "model": json.loads(stated.model_dump_json(exclude_none=True)),
            "model_sha256": facts["model_sha256"],
            "evaluation": evaluation.dump(),
            "benchmarks": {key: benchmark.dump() for key, benchmark in sets.items()},
            "numerics": chosen,
            "seed": _SEED,
        }
        made = manifest(config)
        written = {  # the keys are lm-evaluation-harness's where it has one
            "results": benchmark_results(answers, asked.names, sampled.samples),
            "model_name": model,
            "model_source": facts["engine"],
            "config": config,
            "versions": {"python": made["python"], **made["packages"]},
            "git_hash": made["source"]["commit"],
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "total_evaluation_time_seconds": round(time.perf_counter() - started, 1),
        }
        records.write_frame(answers, folder / "answers.parquet", records.ANSWERS)
        write_json(result, written)
        head, *rows = result_lines(written["results"])
        print(markdown_table(head, rows, "l" + "r" * (len(head) - 1)), end="")
        if lost := sum(row.get("ungraded", 0) for row in written["results"].values()):
            print(f"{lost} answers could not be graded and count nowhere; with n < k graded ones pass@k is pass@n.")
        print(f"{result}; {folder / 'answers.parquet'} has every answer")


@contextmanager
def work_folder(folder: Path, call: str) -> Iterator[Path]:
    """A folder for intermediate files of this call alone; after an error or a kill the same call continues there."""
    work = folder / f"work-{hashlib.sha256(call.encode()).hexdigest()[:16]}"
    work.mkdir(parents=True, exist_ok=True)
    with (work / "lock").open("w") as lock_file:
        if not try_lock(lock_file.fileno()):
            raise UserError(f"{work}: another `ict eval` is at work there; wait for it")
        try:
            yield work
        except UserError:
            if not any([*work.glob(f"{_CHECKPOINT}*"), *work.glob(f"{_CACHE}/**/*.parquet")]):  # nothing to continue
                shutil.rmtree(work)
                with suppress(OSError):  # the folder had something in it before
                    folder.rmdir()
            raise
        shutil.rmtree(work)


def stated_model(work: Path, model: str, name: str) -> "Fetched":
    """The model as the project's file states it, or one made from the checkpoint, for the device of this machine.

    A checkpoint that an interrupted call has fetched is fetched again if it may have changed since.
    """
    import torch

    from ict_core.config.inputs import Hardware
    from ict_core.config.load import load_model
    from ict_core.tools.model_file import model_file

    (work / "configs/models").mkdir(parents=True, exist_ok=True)
    path, known_file = work / "configs/models" / f"{name}.yaml", _MODELS / f"{model}.yaml"
    before, local = path.read_bytes() if path.exists() else None, Path(model).is_dir()
    by_name = "/" not in model and known_file.exists()
    if by_name and local:
        print(f"* {model}: the folder here is meant, not the model of configs/models", file=sys.stderr)
    if by_name and not local:
        shutil.copyfile(known_file, path)
    elif local or before is None:  # for a hub's model the first call has recorded the commit
        path.unlink(missing_ok=True)
        _, remarks = model_file(model, name, work)
        for remark in remarks:
            print(f"* {remark}", file=sys.stderr)
    stated = load_model(path)
    if not _only_fetched(stated):
        raise UserError(f"{model}: is trained by a study; give the folder of its checkpoint, .../base/seed-0/model")
    if stated.kind == "local" or path.read_bytes() != before:
        remove(work / _CHECKPOINT)
    if by_name and not local and stated.kind == "local":
        stated = stated.changed(path=str(REPOSITORY / stated.path))
    if torch.cuda.is_available():
        return stated.changed(hardware=Hardware(**_HARDWARE))
    return stated.changed(hardware=None, dtype="float32")


def _answers(
    work: Path, name: str, model: "Fetched", evaluation: "Evaluation", problems: "pd.DataFrame"
) -> "tuple[pd.DataFrame, dict[str, Any]]":
    """``records.ANSWERS``, every answer with its problem and its grade; and facts about engine and weights."""
    from ict_core.models.fetch import fetch_model
    from ict_core.store import records

    checkpoint, stated = work / _CHECKPOINT, model.model_dump(mode="json")
    if not checkpoint.exists():
        fetch_model(model, f"configs/models/{name}.yaml", work, {"model": stated}, checkpoint)
    prepare()
    from ict_core.evaluation.answers import answers
    from ict_core.grading.grade import grade_completions

    completions, facts = answers(checkpoint, model, evaluation, problems, _SEED, work / _CACHE)
    completions = completions[list(records.COMPLETIONS)]
    grades = grade_completions(completions, problems, workers=evaluation.threads, **GRADING)
    key = ["benchmark", "problem"]
    graded = completions.merge(grades[[*key, "sample", "status", "extracted"]], on=[*key, "sample"])
    return graded.merge(problems[[*key, "prompt", "answer"]], on=key)[list(records.ANSWERS)], facts
