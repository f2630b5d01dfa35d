"""One run's files from its scores back to its base model, held against each other link by link."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ict_core.config.study import BASE_VARIANT, Cell
from ict_core.errors import UserError
from ict_core.evidence.scores import score_grades
from ict_core.store import records
from ict_core.store.hashes import hash_weights
from ict_core.store.layout import MANIFEST, StudyFiles, trained_model
from ict_core.store.manifests import check_files, read_manifest

_DIGITS = 16  # of a hash that is shown
_FACTS = ("steps", "prompts_per_step", "group_size", "learning_rate", "kl_coef", "temperature", "max_new_tokens")


@dataclass
class Walk:
    """What was found of one run.

    Attributes:
        steps: (file, what it says), in the order of the walk.
        links: (what was held against what, whether it holds), likewise; None where a file is not there.
    """

    steps: list[tuple[str, str]] = field(default_factory=list)
    links: list[tuple[str, bool | None]] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether no link is broken."""
        return all(holds is not False for _, holds in self.links)


def walk(results: Path, cell: Cell, scores: pd.DataFrame) -> Walk:
    """Follow one run through the files of its cell.

    Args:
        results: the study's folder.
        cell: of the run.
        scores: the study's rows of this cell.
    """
    found = Walk()
    for part in (_grades, _generation, _training):
        try:
            part(found, results, cell, scores)
        except (UserError, OSError) as error:  # a file is missing or damaged: the walk ends here
            found.steps.append((_short(results / cell.folder), f"BROKEN: {error}"))
            found.links.append((str(error), False))
    return found


def _grades(found: Walk, results: Path, cell: Cell, scores: pd.DataFrame) -> None:
    files = StudyFiles(results).cell(cell.folder)
    file, said = files.grades, read_manifest(files.grading)
    grades = records.read_frame(file, records.GRADES)
    found.steps.append((_short(file), f"{len(grades)} verdicts, {_hash(records.content_hash(file))}"))
    order = ["benchmark", "problem"]
    counted = [f.sort_values(order, ignore_index=True) for f in (score_grades(grades, cell), scores)]
    found.links.append(("scores.parquet counts these verdicts", counted[0].equals(counted[1][counted[0].columns])))
    _equal(found, "grades.parquet is what grading.json says", records.content_hash(file), said["grades_sha256"])
    found.steps.append((_short(files.grading), _code(said)))
    completions = files.completions
    texts = records.read_frame(completions, records.COMPLETIONS)
    sha256 = records.content_hash(completions)
    found.steps.append((_short(completions), f"{len(texts)} completions, {_hash(sha256)}"))
    _equal(found, "these completions were graded", sha256, said["completions_sha256"])
    _problems(found, StudyFiles(results).eval_problems, said, "graded by")


def _generation(found: Walk, results: Path, cell: Cell, _: pd.DataFrame) -> None:
    study = StudyFiles(results)
    files = study.cell(cell.folder)
    said = read_manifest(files.generation)
    evaluation = said["config"]["evaluation"]
    sampling = ", ".join(f"{key} {evaluation[key]}" for key in ("temperature", "top_p", "max_new_tokens", "samples"))
    engine = f"{said['engine']} {said['engine_version']}, {sampling}; weights {_hash(said['model_sha256'])}"
    found.steps.append((_short(files.generation), f"{engine}; {_code(said)}"))
    sha256 = records.content_hash(files.completions)
    _equal(found, "generation.json made these completions", sha256, said["completions_sha256"])
    _problems(found, StudyFiles(results).eval_problems, said, "answered")
    trained = cell.variant != BASE_VARIANT
    made = files.train if trained else study.base_model(cell.model)
    of_model = read_manifest(made / MANIFEST)
    weights = hash_weights(trained_model(made) if trained else made)
    _equal(found, "the weights that answered are those of the checkpoint", said["model_sha256"], weights)
    _equal(found, "the checkpoint is what its manifest says", weights, of_model["model_sha256"])


def _training(found: Walk, results: Path, cell: Cell, _: pd.DataFrame) -> None:
    files = StudyFiles(results)
    base = files.base_model(cell.model)
    if cell.variant != BASE_VARIANT:
        folder = files.cell(cell.folder).train
        said = check_files(folder)
        config = said["config"]
        method = {key: value for key, value in config["method"].items() if value is not None}
        training = {key: config["training"][key] for key in _FACTS if key in config["training"]}
        facts = [f"seed {config['seed']}", f"method {_pairs(method)}", f"training {_pairs(training)}"]
        file = _short(folder / MANIFEST)
        found.steps.append((file, f"weights {_hash(said['model_sha256'])} from base {_hash(said['base_sha256'])}"))
        found.steps += [("", fact) for fact in [*facts, _machine(said), _code(said)]]
        found.links.append(("every file of the training is what its manifest says", True))
        _problems(found, files.train_problems, said, "trained on")
        _equal(found, "it began with this base model", said["base_sha256"], hash_weights(base))
    said = check_files(base)
    found.steps.append((_short(base / MANIFEST), f"base model, weights {_hash(said['model_sha256'])}; {_code(said)}"))
    _equal(found, "the base model is what its manifest says", hash_weights(base), said["model_sha256"])


def stored_walk(manifest: Mapping[str, Any], file: Path, cell: Cell) -> Walk:
    """As :func:`walk`, by a study's merged manifest alone: its cells are not there."""
    found = Walk()
    jobs = {j["stage"]: j for j in manifest["jobs"] if (j["model"], j["variant"], j["seed"]) == tuple(cell)}
    base: dict[str, Any] = next(
        (j for j in manifest["jobs"] if (j["model"], j["variant"]) == (cell.model, BASE_VARIANT)), {}
    )
    for stage in ("grade", "generate", "train", "pretrain", "fetch"):
        if stage in jobs:
            found.steps.append((f"{file.name}: {stage}", _job(manifest, jobs[stage])))
    made = jobs.get("train") or jobs.get("pretrain") or jobs.get("fetch")
    if made and "generate" in jobs:
        text = "the weights that answered are those that were made"
        _equal(found, text, jobs["generate"]["model_sha256"], made["model_sha256"])
    if "train" in jobs and base:
        _equal(found, "it began with this base model", jobs["train"]["base_sha256"], base["model_sha256"])
    if {"completions_sha256"} <= jobs.get("grade", {}).keys() & jobs.get("generate", {}).keys():
        of_both = (jobs[stage]["completions_sha256"] for stage in ("generate", "grade"))
        _equal(found, "these completions were graded", *of_both)
    found.links.append(("verdicts, completions, weights and training files", None))
    return found


def _jobs(manifest: Mapping[str, Any], cell: Cell) -> dict[str, Mapping[str, Any]]:
    """The jobs of a cell by stage."""
    return {job["stage"]: job for job in manifest["jobs"] if [job[key] for key in Cell._fields] == list(cell)}


def _job(manifest: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    source = manifest["sources"][job["source"]]
    named = [("weights", "model_sha256"), ("base", "base_sha256"), ("completions", "completions_sha256")]
    hashes = [f"{word} {_hash(job[key])}" for word, key in named if key in job]
    engine = [f"{job['engine']} {job['engine_version']}"] if "engine" in job else []
    return ", ".join([*engine, *hashes]) + f"; {_code({'source': source})}"


def _problems(found: Walk, file: Path, said: Mapping[str, Any], verb: str) -> None:
    if file.exists():
        _equal(found, f"{verb} the problems of {_short(file)}", records.content_hash(file), said["problems_sha256"])
    else:
        found.links.append((f"{verb} the problems of {_short(file)}", None))


def _equal(found: Walk, what: str, first: str, second: str) -> None:
    holds = first == second
    found.links.append((what if holds else f"{what}: {_hash(first)} and {_hash(second)}", holds))


def _code(said: Mapping[str, Any]) -> str:
    """Commit, state of the tree and hash of the library."""
    source = said["source"]
    commit = "outside of git" if source["commit"] is None else f"commit {source['commit'][:12]}"
    state = {True: " with changes", False: "", None: ""}[source["dirty"]]
    return f"{commit}{state}, library {_hash(source['sha256'])}"


def _machine(said: Mapping[str, Any]) -> str:
    packages = said["packages"]
    named = [f"{name} {packages[name]}" for name in ("torch", "trl", "transformers") if name in packages]
    platform = said["platform"]
    return ", ".join([f"Python {said['python']}", *named, platform["cpu"], *platform["gpus"]])


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())


def _hash(sha256: str) -> str:
    return sha256[:_DIGITS]


def _short(path: Path) -> str:
    """A path from the study's folder on."""
    parts = path.parts
    at = parts.index("results") if "results" in parts else 0
    return "/".join(parts[at:])


def samples(results: Path, cell: Cell, benchmark: str, problem: str) -> Iterator[tuple[int, str, str]]:
    """(sample, verdict, text) of one problem's completions.

    Raises:
        UserError: the cell's files are not there, or it has no such problem.
    """
    files = StudyFiles(results).cell(cell.folder)
    texts = records.read_frame(files.completions, records.COMPLETIONS)
    key = ["benchmark", "problem", "sample"]
    both = texts.merge(records.read_frame(files.grades, records.GRADES)[[*key, "status"]], on=key)
    chosen = both[(both["benchmark"] == benchmark) & (both["problem"] == problem)]
    if chosen.empty:
        raise _no_problem(files.folder, texts, benchmark, problem)
    chosen = chosen.sort_values("sample")
    yield from zip(chosen["sample"].tolist(), chosen["status"].tolist(), chosen["text"].tolist(), strict=True)


def question(file: Path, problem: str) -> "pd.Series[str]":
    """A problem's row of ``records.PROBLEMS``: its prompt and its gold answer.

    Args:
        file: the evaluation's problems.
        problem: ``BENCHMARK/PROBLEM``.

    Raises:
        UserError: the file has no such problem.
    """
    benchmark, _, name = problem.partition("/")
    problems = records.read_frame(file, records.PROBLEMS)
    chosen = problems[(problems["benchmark"] == benchmark) & (problems["problem"] == name)]
    if chosen.empty:
        raise _no_problem(file, problems, benchmark, name)
    return chosen.iloc[0]


def _no_problem(where: Path, frame: pd.DataFrame, benchmark: str, problem: str) -> UserError:
    """The complaint that a frame has no such problem, with some that it has."""
    of_benchmark = frame.loc[frame["benchmark"] == benchmark, "problem"].drop_duplicates()
    allowed = [f"{benchmark}/{name}" for name in of_benchmark.head(5)]
    allowed = allowed or [f"{name}/..." for name in frame["benchmark"].unique()]
    told = f"{_short(where)} has no such problem; allowed: {', '.join(allowed)}, ..."
    return UserError(f"--samples {benchmark}/{problem}: {told}")
