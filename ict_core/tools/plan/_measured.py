"""What finished jobs took: from the manifests of cells, or from a collected study's files."""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ict_core.errors import UserError
from ict_core.store import MANIFEST, StudyFiles, cell_folder, read_manifest, records

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

    Jobs whose outputs are `damaged` count as not finished.

    Raises:
        UserError: a file that stands there cannot be read, or one that belongs to it is missing.
    """
    jobs = pd.DataFrame([*_cells(results, damaged)], columns=_COLUMNS)
    compute = StudyFiles(results).frame("compute")
    if jobs.empty and compute.exists() and compute not in damaged:
        jobs = _collected(StudyFiles(results))
    rates = {}
    for (stage, model), took in jobs[(jobs["tokens"] > 0) & (jobs["seconds"] > 0)].groupby(["stage", "model"]):
        seconds, tokens, answers = (took[column].sum() for column in ("seconds", "tokens", "answers"))
        rates[str(stage), str(model)] = Rate(len(took), float(seconds / tokens), float(tokens / answers))
    return rates


def _cells(results: Path, damaged: Container[Path]) -> Iterator[dict[str, Any]]:
    """One row a finished job, from its manifest."""
    files = StudyFiles(results)
    cell = files.cell(cell_folder("*", "*", "*"))
    for pattern in (files.base_model("*") / MANIFEST, cell.train / MANIFEST, cell.generation):
        for path in sorted(results.glob(pattern.relative_to(results).as_posix())):
            if path in damaged or path.parent in damaged:
                continue
            manifest = read_manifest(path)
            if path.parent.name == "model" and manifest.get("stage") != "pretrain":  # it was downloaded
                continue
            try:
                took = {"stage": manifest["stage"], "tokens": manifest["tokens"], "seconds": manifest["wall_seconds"]}
                yield took | {"model": path.relative_to(results).parts[0], "answers": _answers(manifest)}
            except KeyError as error:
                raise UserError(f"{path}: has no {error}; rerun the stage that writes it") from error


def _answers(manifest: dict[str, Any]) -> int:
    """How many documents or answers a job read or sampled, by its manifest."""
    if manifest["stage"] == "generate":
        return int(manifest["completions"])
    config = manifest["config"]
    if manifest["stage"] == "pretrain":
        return _documents(config["model"]["pretraining"])
    return _rollouts(config["training"])


def _collected(files: StudyFiles) -> pd.DataFrame:
    """One row a job of a collected study; the answers that a job sampled are as long as the model's evaluated ones."""
    jobs = records.read_frame(files.frame("compute"), records.COMPUTE)
    scores = records.read_frame(files.frame("scores"), records.SCORES)
    evaluated = scores.groupby("model")[["sampled", "tokens"]].sum()
    length = evaluated["tokens"] / evaluated["sampled"]
    settings = read_manifest(files.settings)

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
