"""What finished jobs took: from the manifests of cells, or from a collected study's files."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from ict_core import records
from ict_core.collect import COMPUTE, LOG, SCORES
from ict_core.errors import UserError

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


def measured_rates(results: Path) -> Rates:
    """The rates of a results folder; empty where there is none, or nothing has finished there.

    Raises:
        UserError: a file that stands there cannot be read, or one that belongs to it is missing.
    """
    jobs = pd.DataFrame([*_cells(results)], columns=_COLUMNS)
    if jobs.empty and (results / COMPUTE).exists():
        jobs = _collected(results)
    jobs = jobs[(jobs["tokens"] > 0) & (jobs["seconds"] > 0)]
    return {
        (str(stage), str(model)): Rate(
            len(of), float(of["seconds"].sum() / of["tokens"].sum()), float(of["tokens"].sum() / of["answers"].sum())
        )
        for (stage, model), of in jobs.groupby(["stage", "model"])
    }


def _cells(results: Path) -> Iterator[dict[str, Any]]:
    """One row a finished job, from its manifest and a file beside it."""
    for path in sorted(results.glob("*/base/model/manifest.json")):
        manifest = _read(path)
        if manifest.get("stage") == "pretrain":  # else it was downloaded
            yield _row(path, path.parts[-4], _documents(manifest["config"]["model"]["pretraining"]))
    for path in sorted(results.glob("*/*/seed-*/train/manifest.json")):
        log = records.read_frame(path.with_name("log.parquet"), records.LOG)
        yield _row(path, path.parts[-5], _answers(log))
    for path in sorted(results.glob("*/*/seed-*/generation.json")):
        completions = path.with_name("completions.parquet")
        if completions.exists():
            yield _row(path, path.parts[-4], pq.read_metadata(completions).num_rows)


def _row(path: Path, model: str, answers: float) -> dict[str, Any]:
    manifest = _read(path)
    try:
        job = {"stage": manifest["stage"], "tokens": manifest["tokens"], "seconds": manifest["wall_seconds"]}
    except KeyError as error:
        raise UserError(f"{path}: has no {error}; rerun the stage that writes it") from error
    return job | {"model": model, "answers": answers}


def _collected(results: Path) -> pd.DataFrame:
    """One row a job of a collected study; a model's answers are spread evenly over its jobs."""
    jobs = records.read_frame(results / COMPUTE, records.COMPUTE)
    log = records.read_frame(results / LOG, records.STUDY_LOG)
    scores = records.read_frame(results / SCORES, records.SCORES)
    models = _read(results / "study.json")["models"]
    answers = {
        **{("train", model): _answers(of) for model, of in log.groupby("model")},
        **{("generate", model): of["sampled"].sum() for model, of in scores.groupby("model")},
        **{("pretrain", m): _documents(of["pretraining"]) for m, of in models.items() if "pretraining" in of},
    }
    of_job = jobs.groupby(["stage", "model"])["tokens"].transform("size")
    whole = [answers[key] for key in zip(jobs["stage"], jobs["model"], strict=True)]
    return jobs.assign(answers=whole / of_job)[_COLUMNS]


def _answers(log: pd.DataFrame) -> float:
    """Rollouts of all logged steps."""
    return float((log["tokens"] / log["length_mean"]).sum())


def _documents(pretraining: dict[str, Any]) -> int:
    return int(pretraining["steps"]) * int(pretraining["batch_sequences"])


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file; rerun the stage that writes it") from error
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: not JSON ({error}); delete it and rerun its stage") from error
    return content
