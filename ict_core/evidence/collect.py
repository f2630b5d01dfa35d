"""The collecting stage: what every cell left becomes the few files from which all evidence is made."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ict_core.config.study import Study, trials
from ict_core.config.study_file import Cell
from ict_core.config.tuning import rate_of
from ict_core.errors import UserError
from ict_core.evidence.cells import NONE, Counted, check_again, check_inputs
from ict_core.evidence.outcomes import MADE, Outcome
from ict_core.evidence.tuning import tried_in, tuning_frame
from ict_core.statistics.schemas import BASE
from ict_core.store import records
from ict_core.store.declared import declared
from ict_core.store.layout import LEARNING_CURVE, StudyFiles, cell_folder
from ict_core.store.manifests import read_manifest, write_manifest

# keys of a job's manifest that the study's manifest has in another form, or not at all
_APART = frozenset(["config", "engine_settings", "files", "packages", "python", "platform", "process", "source", "trl"])


def collect(
    results: Path, of: Study, cells: Counted = NONE, regraded: Path | None = None, declaring: Sequence[Path] = ()
) -> None:
    """Gather what a study's cells left into a few files, its manifest (:func:`merge_manifests`) among them.

    The scores of the cells at the shared learning rate get a file of their own, under their variants' names. Log and
    tokens are those of the grid's cells alone.

    Args:
        results: the study's folder.
        of: the study.
        cells: the cells that are stored one by one, and were not run here.
        regraded: a folder of other grades of the same cells, used instead of the study's; it receives the files.
        declaring: files that declare outcome, gates and analysis; without them regraded cells keep the study's record.

    Raises:
        UserError: a cell's file is missing or not of its schema, its stages do not belong together, or a stored cell
            does not belong to what was run here.
        Damaged: a cell's file does not hold what was written.
    """
    study, graded = StudyFiles(results), StudyFiles(results if regraded is None else regraded)
    order = {name: position for position, name in enumerate(of.benchmarks)}
    check_again(of, study, cells.again)
    check_inputs(of, study, cells.cells)

    def outcome(cell: Cell) -> Outcome:
        return cells.outcome(cell, study, graded)

    def scores(cells: Sequence[Cell]) -> pd.DataFrame:
        frames = [pd.DataFrame(columns=list(records.SCORES))] if not cells else []
        for cell in cells:
            scored = outcome(cell).frame("scores")
            frames.append(scored.sort_values("benchmark", key=lambda names: names.map(order), kind="stable"))
        return pd.concat(frames)

    logs, tokens, curves = [], [], []
    for cell in of.cells():
        log, sample = (outcome(cell).frame(name) for name in ("log", "tokens"))
        logs.append(log.assign(**cell._asdict()))
        selected = sample.merge(log[["step", "selecting"]], on="step", how="left")
        tokens.append(selected.assign(**cell._asdict()))
        if of.learning_curve is not None:
            curves.append(outcome(cell).frame(LEARNING_CURVE).assign(**cell._asdict()))
    manifests = [*_manifests(study, of, outcome)]
    check_chain(manifests)
    shared = scores(of.shared_rate_cells())
    shared["variant"] = shared["variant"].map(lambda variant: rate_of(variant)[0])
    records.write_frame(scores([*of.base_cells(), *of.cells()]), graded.frame("scores"), records.SCORES)
    records.write_frame(shared, graded.frame("shared_rate_scores"), records.SCORES)
    choices = manifests if of.rates_of is None else of.rates_of.choices(of.rated_arms())
    records.write_frame(tuning_frame(choices), graded.frame("tuning"), records.TUNING)
    records.write_frame(pd.concat(logs), graded.frame("log"), records.STUDY_LOG)
    records.write_frame(pd.concat(tokens), graded.frame("tokens"), records.STUDY_TOKENS)
    if curves:
        records.write_frame(pd.concat(curves), graded.frame(LEARNING_CURVE), records.STUDY_LEARNING_CURVE)
    records.write_frame(compute_frame(manifests), graded.frame("compute"), records.COMPUTE)
    merged = merge_manifests(manifests)
    declaration = read_manifest(study.manifest).get("declared") if regraded is not None else None
    if declaring:
        declaration = declared(declaring, (source["commit"] for source in merged["sources"]))
    write_manifest(graded.manifest, merged if declaration is None else merged | {"declared": declaration})


def _manifests(study: StudyFiles, of: Study, outcome: Callable[[Cell], Outcome]) -> Iterable[dict[str, Any]]:
    """Every job's manifest with its cell, in the order in which data go through the stages."""
    choices = {arm: read_manifest(study.chosen_rate(*arm)) for arm in of.tuned_arms()}
    made = [*of.all_bases(), *of.trained_cells()]
    tried = [cell for arm, choice in choices.items() for cell in trials(*arm, tried_in(choice))]
    for cell in dict.fromkeys([*made, *tried]):
        yield cell._asdict() | outcome(cell).job(MADE)
    for (model, variant), choice in choices.items():
        yield {"model": model, "variant": variant, "seed": min(map(int, choice["base_rewards"]))} | choice
    for stage in ("generate", "grade"):
        for cell in of.evaluated_cells():
            yield cell._asdict() | outcome(cell).job(stage)


def compute_frame(manifests: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """``records.COMPUTE``: what each job cost. A job without a GPU has NaN for the GPU's memory."""
    keys = {column: "wall_seconds" if column == "seconds" else column for column in records.COMPUTE}
    frame = pd.DataFrame([{column: job[key] for column, key in keys.items()} for job in manifests])
    return frame.astype({column: "float64" for column, kind in records.COMPUTE.items() if kind == "float"})


def check_chain(manifests: Iterable[dict[str, Any]]) -> None:
    """Raise a UserError if a job used another base model, weights or completions than the job before it made."""
    jobs = {(job["model"], job["variant"], job["seed"], job["stage"]): job for job in manifests}
    producers = ("pretrain", "fetch", "supervised_start", "train")
    weights = {key[:3]: job["model_sha256"] for key, job in jobs.items() if key[3] in producers}
    for (model, variant, seed, stage), job in jobs.items():
        match stage:
            case "train":
                key, base = "base_sha256", (model, BASE, seed)  # its own, or the only one of a fetched model
                expected = weights[base if base in weights else (model, BASE, 0)]
            case "generate":
                key, expected = "model_sha256", weights[model, variant, seed]
            case "grade":
                key = "completions_sha256"
                expected = jobs[model, variant, seed, "generate"][key]
            case _:
                continue
        if job[key] != expected:
            raise UserError(
                f"{cell_folder(model, variant, seed)}: {stage}: its {key} is {job[key][:16]}..., but the stage before "
                f"made {expected[:16]}...: files of different runs lie together; delete the cell's folder and rerun"
            )


def merge_manifests(manifests: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """All manifests as one, with what several of them share written once.

    ``jobs`` is a list in the given order, each with its cell, stage, hashes and cost. Under the keys ``environment``
    (packages, Python, machine), ``process`` (threads, flags), ``source`` (commit, state of the tree), ``loaded`` (the
    library's files), ``trl`` and ``engine_settings`` a job has a number: the position in the list of that kind. TRL's
    seed, which differs between cells, stays in the job, and so does a learning rate that was chosen. The configuration
    of a job and its files' hashes are in the cell's own manifest alone.
    """
    kinds = ("environments", "processes", "sources", "loaded", "trl", "engines")
    shared: dict[str, list[Any]] = {kind: [] for kind in kinds}

    def number(kind: str, value: Any) -> int:
        if value not in shared[kind]:
            shared[kind].append(value)
        return shared[kind].index(value)

    jobs = []
    for manifest in manifests:
        job = {key: value for key, value in manifest.items() if key not in _APART}
        source = dict(manifest["source"])
        job["loaded"] = number("loaded", source.pop("loaded"))
        job["source"] = number("sources", source)
        job["environment"] = number("environments", {key: manifest[key] for key in ("packages", "python", "platform")})
        job["process"] = number("processes", manifest["process"])
        if rates := manifest["config"].get("rates_of"):
            job["rates_of"] = rates
        if rates or "tuning" in manifest["config"]:
            job["learning_rate"] = manifest["config"]["training"]["learning_rate"]
        if "trl" in manifest:
            settings = dict(manifest["trl"])
            job["trl_seed"] = settings.pop("seed")
            job["trl"] = number("trl", settings)
        if manifest.get("engine_settings") is not None:
            job["engine_settings"] = number("engines", manifest["engine_settings"])
        jobs.append(job)
    return {**shared, "jobs": jobs}


def count_grades(grades: pd.DataFrame) -> pd.DataFrame:
    """Count the verdicts on each problem in ``records.GRADES``: the columns of ``records.SCORES`` without the cell.

    There is one row per problem, in order of appearance. Ungraded samples count in ``sampled`` and not in ``n``. A
    UserError if a status is not one of ``records.STATUSES``.
    """
    problem = ["benchmark", "problem"]
    unknown = grades[~grades["status"].isin(records.STATUSES)]
    if len(unknown):
        row = unknown.iloc[0]
        place = ", ".join(f"{column} {row[column]}" for column in (*problem, "sample", "status"))
        raise UserError(f"grades: {place}: the status is unknown")
    counted = grades[problem].assign(
        sampled=1,
        **{status: (grades["status"] == status).astype("int64") for status in records.STATUSES},
        truncated=(grades["finish_reason"] == "length").astype("int64"),
        tokens=grades["tokens"],
    )
    counts = counted.groupby(problem, sort=False, as_index=False).sum()
    return counts.assign(n=counts[list(records.STATUSES_GRADED)].sum(axis=1))


def score_grades(grades: pd.DataFrame, cell: Cell) -> pd.DataFrame:
    """The scores of one cell, a frame of ``records.SCORES``, by :func:`count_grades` of its ``records.GRADES``."""
    return count_grades(grades).assign(**cell._asdict())[list(records.SCORES)]
