"""The collecting stage: what every cell left becomes the few files that all evidence is made from."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ict_core import records
from ict_core.grading.grade import score_grades
from ict_core.provenance import read_json, write_json

if TYPE_CHECKING:
    from ict_core.config import Cell

SCORES, LOG, TOKENS, COMPUTE, MANIFEST = (
    "scores.parquet",
    "train_log.parquet",
    "tokens.parquet",
    "compute.parquet",
    "manifest.json",
)
_COST = {
    "tokens": "tokens",
    "seconds": "wall_seconds",
    "peak_memory_mib": "peak_memory_mib",
    "peak_gpu_memory_mib": "peak_gpu_memory_mib",
}


def collect(results: Path, base: Sequence["Cell"], trained: Sequence["Cell"], benchmarks: Sequence[str]) -> None:
    """Gather a study's cells into five files of its results folder.

    They are ``scores.parquet`` (``records.SCORES``), ``train_log.parquet`` (``records.STUDY_LOG``), ``tokens.parquet``
    (``records.STUDY_TOKENS``), ``compute.parquet`` (``records.COMPUTE``) and ``manifest.json``
    (:func:`merge_manifests`).

    Args:
        results: the study's folder, with ``<model>/<variant>/seed-<n>/`` in it.
        base: the untrained models' cells.
        trained: all other cells.
        benchmarks: the order of a cell's rows in the scores.

    Raises:
        UserError: a cell's file is missing or not of its schema.
    """
    order = {name: position for position, name in enumerate(benchmarks)}
    scores = []
    for cell in [*base, *trained]:
        grades = records.read_frame(_folder(results, cell) / "grades.parquet", records.GRADES)
        of_cell = score_grades(grades, *cell)
        scores.append(of_cell.sort_values("benchmark", key=lambda names: names.map(order), kind="stable"))
    logs, tokens = [], []
    for cell in trained:
        train = _folder(results, cell) / "train"
        log = records.read_frame(train / "log.parquet", records.LOG)
        sample = records.read_frame(train / "tokens.parquet", records.TOKENS)
        logs.append(_of_cell(log, cell))
        tokens.append(_of_cell(sample.merge(log[["step", "selecting"]], on="step", how="left"), cell))
    manifests = [*_manifests(results, base, trained)]
    records.write_frame(pd.concat(scores), results / SCORES, records.SCORES)
    records.write_frame(pd.concat(logs), results / LOG, records.STUDY_LOG)
    records.write_frame(pd.concat(tokens), results / TOKENS, records.STUDY_TOKENS)
    records.write_frame(compute_frame(manifests), results / COMPUTE, records.COMPUTE)
    write_json(results / MANIFEST, merge_manifests(manifests))


def _folder(results: Path, cell: "Cell") -> Path:
    return results / cell.model / cell.variant / f"seed-{cell.seed}"


def _of_cell(frame: pd.DataFrame, cell: "Cell") -> pd.DataFrame:
    return frame.assign(model=cell.model, variant=cell.variant, seed=cell.seed)


def _manifests(results: Path, base: Sequence["Cell"], trained: Sequence["Cell"]) -> Iterable[dict[str, Any]]:
    """Every job's manifest with its cell, in the order of the path of the data."""
    for cell in base:
        yield {**cell._asdict(), **read_json(results / cell.model / "base" / "model" / "manifest.json")}
    for cell in trained:
        yield {**cell._asdict(), **read_json(_folder(results, cell) / "train" / "manifest.json")}
    for cell in [*base, *trained]:
        yield {**cell._asdict(), **read_json(_folder(results, cell) / "generation.json")}


def compute_frame(manifests: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """``records.COMPUTE``: what each job took. A job without a GPU has NaN for the GPU's memory."""
    rows = [
        {key: job[key] for key in ("model", "variant", "seed", "stage")}
        | {column: float("nan") if job[key] is None else job[key] for column, key in _COST.items()}
        for job in manifests
    ]
    return pd.DataFrame(rows).astype({"seconds": "float64", "peak_memory_mib": "float64"})


def merge_manifests(manifests: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """All manifests as one, what several of them share written once.

    Returns:
        ``jobs``: a list in the given order, each with its cell, stage, hashes and cost. Under the keys ``environment``
        (packages, Python, machine), ``source`` (commit, state of the tree) and ``trl`` a job has a number: the position
        in the lists ``environments``, ``sources``, ``trl``. TRL's seed, which differs between cells, stays in the job.
    """
    shared: dict[str, list[Any]] = {"environments": [], "sources": [], "trl": []}

    def number(kind: str, value: Any) -> int:
        if value not in shared[kind]:
            shared[kind].append(value)
        return shared[kind].index(value)

    jobs = []
    for whole in manifests:
        job = {k: v for k, v in whole.items() if k not in ("config", "packages", "python", "platform", "source", "trl")}
        job["environment"] = number("environments", {k: whole[k] for k in ("packages", "python", "platform")})
        job["source"] = number("sources", whole["source"])
        if "trl" in whole:
            settings = dict(whole["trl"])
            job["trl_seed"] = settings.pop("seed")  # the one setting that differs between cells
            job["trl"] = number("trl", settings)
        jobs.append(job)
    return {**shared, "jobs": jobs}
