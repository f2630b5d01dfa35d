"""`ict eval`: one model's answers to any of the benchmarks, without a study's file."""

import fcntl
import json
import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from typer import Argument, BadParameter, Option

from ict_core.commands.app import command
from ict_core.commands.stages import prepare, study_to_run
from ict_core.errors import UserError
from ict_core.process import numerics
from ict_core.process.numerics import Numerics
from ict_core.store import BASE_VARIANT, REPOSITORY, CellFiles, StudyFiles, cell_folder, remove

if TYPE_CHECKING:
    from ict_core.config import Study

_FOLDERS = ("benchmarks", "methods", "data", "accelerate")  # of configs, as they are
_STUDY = "eval"
_CACHE = "cache"  # of answers
_HARDWARE = {  # of a model on a GPU; a generation takes one, and the rest is of trainings
    **{"accelerate": "one-gpu", "gpus": 1, "micro_batch_sequences": 8, "gradient_checkpointing": False},
    **{"memory_gib": 16, "train_hours": 1.0, "generate_hours": 12.0},
}


def _above_0(value: float) -> float:
    """An option's value; an error for one of 0 or less."""
    if value <= 0:
        raise BadParameter(f"{value:g} is not allowed; allowed: above 0")
    return value


@dataclass(frozen=True)
class Sampled:
    """How the answers are drawn, and graded."""

    samples: Annotated[int, Option(min=1, help="answers a problem, n of pass@k")] = 8
    temperature: Annotated[float, Option(callback=_above_0, help="of the sampling, above 0")] = 1.0
    top_p: Annotated[float, Option(callback=_above_0, max=1, help="of the sampling")] = 1.0
    max_new_tokens: Annotated[int, Option(min=1, help="of an answer")] = 1024
    engine: Annotated[Literal["vllm", "transformers"], Option(help="vllm or transformers")] = "vllm"
    threads: Annotated[int, Option(min=1, help="of the CPU, and processes of the grader")] = 1
    portable: Annotated[
        bool, Option("--portable", help="the same bytes on every x86-64 CPU, at a quarter of the speed")
    ] = False

    @property
    def numerics(self) -> Numerics:
        """As a study states them."""
        return "portable" if self.portable else "native"


@dataclass(frozen=True)
class Asked:
    """Which problems, and where they come from."""

    benchmarks: Annotated[str, Option(help="names of configs/benchmarks, with commas: gsm8k,math-500")]
    problems: Annotated[int | None, Option(min=1, help="of each benchmark, drawn at random (default: all)")] = None
    mirror: Annotated[Path | None, Option(help="a folder of OWNER/NAME/CONFIG/SPLIT.jsonl in place of the hub")] = None

    @property
    def names(self) -> list[str]:
        """Of the benchmarks."""
        return [name.strip() for name in self.benchmarks.split(",")]

    def check(self) -> None:
        """A UserError, before anything is fetched, if a benchmark is not known."""
        from ict_core.config.mistakes import one_of

        known = sorted(path.stem for path in (REPOSITORY / "configs/benchmarks").glob("*.yaml"))
        for name in self.names:
            if name not in known:
                raise UserError(f"--benchmarks: {name!r} is not allowed; {one_of(known)}")


@command("eval")
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
    asked.check()
    numerics.use(sampled.numerics)
    name = re.sub(r"[^a-z0-9._-]", "-", Path(model.rstrip("/")).name.lower()).lstrip("._-")[:40] or "model"
    folder = out or Path(f"eval-{name}")
    result = folder / "results.json"
    if result.exists():
        raise UserError(f"{result}: is there already; give another --out, or remove the folder")
    with _work(folder, repr((str(Path(model).absolute()), asked, sampled))) as work:
        study = _written(work, model, name, asked, sampled)
        loaded = _with_samples(study_to_run(study), sampled.samples)
        _run(loaded, name, work, asked.mirror, sampled.threads)
        from ict_core.evidence import result_lines
        from ict_core.markdown import markdown_table
        from ict_core.store import records, write_json

        answers = _answers(work, name)
        told = _told(loaded, model, _cell(work, name), sampled, time.perf_counter() - started)
        records.write_frame(answers, folder / "answers.parquet", records.ANSWERS)
        write_json(result, told)
        head, *rows = result_lines(told["results"])
        print(markdown_table(head, rows, "l" + "r" * (len(head) - 1)), end="")
        print(f"{result}; {folder / 'answers.parquet'} has every answer")


@contextmanager
def _work(folder: Path, call: str) -> Iterator[Path]:
    """A folder for what lies between; after an error or a kill it stays, and the same call samples nothing twice.

    A UserError if a folder of that name is not of this command, has answers of another call, or is in use.
    """
    work, call = folder / "work", f"ict eval {call}"
    told, instead = work / "call", "give another --out"
    if work.exists() and not (told.is_file() and told.read_text(encoding="utf-8").startswith("ict eval ")):
        raise UserError(f"{work}: is there already, and not of this command; {instead}")
    work.mkdir(parents=True, exist_ok=True)
    with told.open("a+", encoding="utf-8") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"{work}: another `ict eval` is at work there; {instead}, or wait for it") from None
        held.seek(0)
        if held.read() not in ("", call):
            if (work / _CACHE).exists():
                raise UserError(f"{work}: has the answers of another call so far; remove it, or {instead}")
            for path in set(work.iterdir()) - {told}:
                remove(path)
            held.truncate(0)
        if told.stat().st_size == 0:
            held.write(call)
            held.flush()
        yield work
        shutil.rmtree(work)


def _written(work: Path, model: str, name: str, asked: Asked, sampled: Sampled) -> Path:
    """The study of this one model, written beside the project's configuration."""
    configs = work / "configs"
    for kind in ("models", "training", "studies"):
        (configs / kind).mkdir(parents=True, exist_ok=True)
    for kind in _FOLDERS:
        if not (configs / kind).exists():
            (configs / kind).symlink_to(REPOSITORY / "configs" / kind, target_is_directory=True)
    recipe = yaml.safe_load((REPOSITORY / "configs/training/mini.yaml").read_text(encoding="utf-8"))
    _write(configs / "training/eval.yaml", recipe | {"passes": "dense"})  # any family: nothing is trained
    _write_model(work, model, name)
    data: dict[str, Any] = {"seed": 0, "train_problems": recipe["prompts_per_step"]}
    data |= {"problems_per_benchmark": asked.problems} if asked.problems is not None else {}
    data |= {"mirror": str(asked.mirror.absolute())} if asked.mirror is not None else {}
    study = {
        "study": _STUDY,
        "note": "One model's answers.",
        "scale": "mini",
        "training": "eval",
        "selection_warmup_steps": 0,
        "numerics": sampled.numerics,
        "data": data,
        "benchmarks": asked.names,
        "evaluation": {
            "engine": sampled.engine,
            "samples": max(4, sampled.samples),
            **{key: getattr(sampled, key) for key in ("temperature", "top_p", "max_new_tokens", "threads")},
        },
        "grading": {"seconds": 5, "memory_mib": 1024},
        "evidence": {"margin_points": 2.0, "power": 0.8},
        "grid": [{"models": [name], "methods": ["grpo"], "seeds": [0]}],
        "baselines": ["grpo"],
    }
    _write(configs / "studies" / f"{_STUDY}.yaml", study)
    return configs / "studies" / f"{_STUDY}.yaml"


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def _write_model(work: Path, model: str, name: str) -> None:
    """The model's file: the project's own, or one made from the checkpoint, for the device that is here.

    A checkpoint that an interrupted call has fetched is fetched again if it may be another one now.
    """
    import torch

    from ict_core.tools import model_file

    path, known = work / "configs/models" / f"{name}.yaml", REPOSITORY / "configs/models" / f"{model}.yaml"
    before, local = path.read_bytes() if path.exists() else None, Path(model).is_dir()
    by_name = "/" not in model and known.exists()
    if by_name and local:
        print(f"* {model}: the folder here is meant, not the model of configs/models", file=sys.stderr)
    if by_name and not local:
        shutil.copyfile(known, path)
    elif local or before is None:  # of a hub's model the first call has written down the commit
        path.unlink(missing_ok=True)
        _, remarks = model_file(model, name, work)
        for remark in remarks:
            print(f"* {remark}", file=sys.stderr)
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    if content.get("kind") == "pretrained-from-scratch":
        raise UserError(f"{model}: is pretrained by a study; give the folder of its checkpoint, .../base/seed-0/model")
    content.pop("hardware", None)
    content |= {"hardware": _HARDWARE} if torch.cuda.is_available() else {"dtype": "float32"}
    _write(path, content)
    if content.get("kind") == "local" or path.read_bytes() != before:
        remove(StudyFiles(work).base_model(name))


def _with_samples(study: "Study", samples: int) -> "Study":
    """With as many answers a problem as were asked for, also fewer than the four that a study has at least."""
    from dataclasses import replace

    return replace(study, evaluation=study.evaluation.model_copy(update={"samples": samples}))


def _run(study: "Study", name: str, work: Path, mirror: Path | None, workers: int) -> None:
    """The stages of a study's base model: problems, checkpoint, answers, grades."""
    from ict_core.config import Cell
    from ict_core.process import loading
    from ict_core.stages import data

    files, cell = StudyFiles(work), _cell(work, name)
    problems, checkpoint = files.eval_problems, files.base_model(name)
    for folder in (problems.parent, cell.folder):
        folder.mkdir(parents=True, exist_ok=True)
    data.run(study, mirror, files.train_problems, problems)
    if not checkpoint.exists():
        with loading():
            from ict_core.stages import fetch_model

        fetch_model.run(study, name, work, mirror, checkpoint)
    prepare()
    from ict_core.stages import generate, grade

    asked = Cell(name, BASE_VARIANT, 0)
    generate.run(study, asked, checkpoint, problems, work / _CACHE, cell.completions, cell.generation)
    grade.run(study, cell.completions, problems, workers, cell.grades, cell.grading)


def _cell(work: Path, name: str) -> CellFiles:
    """The files of the model's answers."""
    return CellFiles(work / cell_folder(name, BASE_VARIANT, 0))


def _answers(work: Path, name: str) -> Any:
    """``records.ANSWERS``: every answer beside its problem and its grade."""
    from ict_core.store import records

    key, cell = ["benchmark", "problem"], _cell(work, name)
    problems = records.read_frame(StudyFiles(work).eval_problems, records.PROBLEMS)
    completions = records.read_frame(cell.completions, records.COMPLETIONS)
    grades = records.read_frame(cell.grades, records.GRADES)
    graded = completions.merge(grades[[*key, "sample", "status", "extracted"]], on=[*key, "sample"])
    return graded.merge(problems[[*key, "prompt", "answer"]], on=key)[list(records.ANSWERS)]


def _told(study: "Study", model: str, cell: CellFiles, sampled: Sampled, seconds: float) -> dict[str, Any]:
    """The content of ``results.json``; the names are lm-evaluation-harness's where it has one."""
    from ict_core.evidence import benchmark_results
    from ict_core.store import read_manifest, records

    made = read_manifest(cell.generation)
    grades = records.read_frame(cell.grades, records.GRADES)
    (stated,) = study.models.values()
    return {
        "results": benchmark_results(grades, list(study.benchmarks), sampled.samples),
        "model_name": model,
        "model_source": made["engine"],
        "config": {
            "model": json.loads(stated.model_dump_json(exclude_none=True)),
            "model_sha256": made["model_sha256"],
            "evaluation": study.evaluation.dump(),
            "benchmarks": {key: benchmark.dump() for key, benchmark in study.benchmarks.items()},
            "numerics": study.numerics,
            "seed": 0,
        },
        "versions": {"python": made["python"], **made["packages"]},
        "git_hash": made["source"]["commit"],
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "total_evaluation_time_seconds": round(seconds, 1),
    }
