"""What finished jobs took: from the manifests of cells, or from a collected study's files."""

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ict_core.errors import UserError
from ict_core.store import records
from ict_core.store.layout import MANIFEST, StudyFiles, cell_folder
from ict_core.store.manifests import read_manifest

_COLUMNS = ["stage", "model", "tokens", "seconds", "answers"]


@dataclass(frozen=True)
class Rate:
    """What a model's finished jobs of one stage took.

    Attributes:
        jobs: how many.
        seconds_per_token: wall seconds of a job, loading included, a token.
        answer: tokens of an answer (or pretraining document), mean.
    """

    jobs: int
    seconds_per_token: float
    answer: float


Rates = dict[tuple[str, str], Rate]
"""By stage (one of `records.STAGES`) and model."""


def measured_rates(results: Path, damaged: Container[Path] = ()) -> Rates:
    """The rates of a results folder; empty where there is none, or nothing has finished there.

    Args:
        damaged: outputs of jobs that count as not finished.

    Raises:
        UserError: a file that stands there cannot be read, or one that belongs to it is missing.
    """
    jobs = pd.DataFrame([*_cells(results, damaged)], columns=_COLUMNS)
    if (
        jobs.empty
        and (StudyFiles(results).frame("compute")).exists()
        and StudyFiles(results).frame("compute") not in damaged
    ):
        jobs = _collected(results)
    jobs = jobs[(jobs["tokens"] > 0) & (jobs["seconds"] > 0)]
    return {
        (str(stage), str(model)): Rate(
            len(of), float(of["seconds"].sum() / of["tokens"].sum()), float(of["tokens"].sum() / of["answers"].sum())
        )
        for (stage, model), of in jobs.groupby(["stage", "model"])
    }


def _cells(results: Path, damaged: Container[Path]) -> Iterator[dict[str, Any]]:
    """One row a finished job, from its manifest."""

    def manifests(pattern: Path) -> list[Path]:
        return [p for p in sorted(results.glob(pattern.as_posix())) if p not in damaged and p.parent not in damaged]

    files = StudyFiles(Path())
    cell = files.cell(cell_folder("*", "*", "*"))
    for path in manifests(files.base_model("*") / MANIFEST):
        if read_manifest(path).get("stage") == "pretrain":  # else it was downloaded
            yield _row(path, path.parts[-4], lambda manifest: _documents(manifest["config"]["model"]["pretraining"]))
    for path in manifests(cell.train / MANIFEST):
        yield _row(path, path.parts[-5], lambda manifest: _rollouts(manifest["config"]["training"]))
    for path in manifests(cell.generation):
        yield _row(path, path.parts[-4], lambda manifest: manifest["completions"])


def _row(path: Path, model: str, answers: Callable[[dict[str, Any]], int]) -> dict[str, Any]:
    """A job's row from its manifest; `answers` reads from it how many it sampled."""
    manifest = read_manifest(path)
    try:
        took = {"stage": manifest["stage"], "tokens": manifest["tokens"], "seconds": manifest["wall_seconds"]}
        return took | {"model": model, "answers": answers(manifest)}
    except KeyError as error:
        raise UserError(f"{path}: has no {error}; rerun the stage that writes it") from error


def _collected(results: Path) -> pd.DataFrame:
    """One row a job of a collected study; the answers that a job sampled are as long as the model's evaluated ones."""
    jobs = records.read_frame(StudyFiles(results).frame("compute"), records.COMPUTE)
    evaluated = (
        records.read_frame(StudyFiles(results).frame("scores"), records.SCORES)
        .groupby("model")[["sampled", "tokens"]]
        .sum()
    )
    length = evaluated["tokens"] / evaluated["sampled"]
    settings = read_manifest(StudyFiles(results).settings)

    def answers(stage: str, model: str, tokens: int) -> float:
        if stage == "pretrain":
            return _documents(settings["models"][model]["pretraining"])
        return _rollouts(settings["training"]) if stage == "train" else tokens / float(length[model])

    rows = zip(jobs["stage"], jobs["model"], jobs["tokens"], strict=True)
    return jobs.assign(answers=[answers(*row) for row in rows])[_COLUMNS]


def _rollouts(training: dict[str, Any]) -> int:
    """Of a whole training."""
    return int(training["steps"] * training["prompts_per_step"] * training["group_size"])


def _documents(pretraining: dict[str, Any]) -> int:
    return int(pretraining["steps"] * pretraining["batch_sequences"])
