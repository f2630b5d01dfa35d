"""The walk along a run: the hashes in each stage's manifest of what it read and wrote, checked against the files."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ict_core.config.study_file import Cell
from ict_core.config.tuning import at_rate
from ict_core.errors import UserError
from ict_core.evidence.collect import check_chain, score_grades
from ict_core.evidence.outcomes import LocalOutcome, StoredOutcome
from ict_core.evidence.tuning import best_rate, last_reward, mean_rewards, tried_in
from ict_core.store import records
from ict_core.store.files import hash_weights
from ict_core.store.layout import BASE_VARIANT, StudyFiles, base_number, cells_folder
from ict_core.store.manifests import check_files, read_manifest
from ict_core.tools.place import Place

_FRAMES = {"problems": records.PROBLEMS, "completions": records.COMPLETIONS, "grades": records.GRADES}
_STATED = {  # by stage: the names in the keys <name>_sha256 of its manifest
    "base": ("model",),
    "train": ("problems", "base", "model"),
    "generate": ("problems", "model", "completions"),
    "grade": ("problems", "completions", "grades"),
}
_TRAINING = ("steps", "prompts_per_step", "group_size", "learning_rate", "kl_coef", "temperature", "max_new_tokens")
_SAMPLING = ("temperature", "top_p", "max_new_tokens", "samples")


def base_of(results: Path, cell: Cell) -> Cell:
    """The base model that a cell of a study with these results starts from, or is."""
    if cell.variant == BASE_VARIANT:
        return cell
    kind = read_manifest(StudyFiles(results).settings)["models"][cell.model]["kind"]
    return Cell(cell.model, BASE_VARIANT, base_number(cell.seed, kind))


class Link(NamedTuple):
    """Two things that must be the same."""

    what: str  # in words; if broken, with both values
    holds: bool | None  # None if a file is not here


class Step(NamedTuple):
    """A stage of a run."""

    where: str  # the path of its manifest
    facts: list[str]
    links: list[Link]


def links_of(place: Place, stage: str, names: Collection[str] | None = None) -> Iterator[Link]:
    """The hashes that a stage's manifest states, checked against the files: those of `names`, or all.

    Raises:
        UserError: a file is missing or damaged, except for problems, which may have been removed.
    """
    file = place.manifest(stage)
    manifest = read_manifest(file)
    for name in (name for name in _STATED[stage] if names is None or name in names):
        stated = place.stated(stage, name)
        what = f"{stage}: {name}_sha256 of {file.name} is that of {short(stated)}"
        if name == "problems" and not stated.exists():
            yield Link(what, None)
            continue
        if name in _FRAMES:
            records.read_frame(stated, _FRAMES[name])  # checks its content against the hash in it
        found = records.content_hash(stated) if name in _FRAMES else hash_weights(stated)
        yield _same(what, manifest.get(f"{name}_sha256", "not stated"), found)


def walk(place: Place, scores: pd.DataFrame) -> list[Step]:
    """Follow one run from the study's `scores` of this cell back to its base model, through the files of the cell.

    A missing or damaged file is a broken link, and ends its stage.
    """
    steps = []
    for stage in ("grade", "generate", *([] if place.is_base else ["train"]), "base"):
        step = Step(short(place.manifest(stage)), [], [])
        try:
            manifest = read_manifest(place.manifest(stage))
            step.facts.extend(_facts(manifest))
            step.links.extend(links_of(place, stage))
            if stage == "grade":
                counts = score_grades(records.read_frame(place.files.grades, records.GRADES), place.cell)
                order = ["benchmark", "problem"]
                counted, found = (frame.sort_values(order, ignore_index=True) for frame in (counts, scores))
                step.links.append(Link("scores.parquet counts these verdicts", counted.equals(found[counted.columns])))
            elif stage != "generate":
                check_files(place.trained if stage == "train" else place.base)
                step.links.append(Link(f"{stage}: every file is what its manifest says", True))
            if stage == "train" and "tuning" in manifest["config"]:
                step.links.extend(_tuning(place, manifest["config"]))
        except (UserError, OSError) as error:
            step.links.append(Link(str(error), False))
        steps.append(step)
    return steps


def _tuning(place: Place, config: Mapping[str, Any]) -> Iterator[Link]:
    """Check that a training has the learning rate which the rewards of its arm's tuning trainings choose."""
    study, variant = StudyFiles(place.results), config["tuning"].get("variant", place.cell.variant)
    choice = read_manifest(study.chosen_rate(place.cell.model, variant))
    chosen = f"{choice['learning_rate']:g}"
    yield _same("train: the learning rate is the chosen one", f"{config['training']['learning_rate']:g}", chosen)
    for tried, seed in tried_in(choice):
        cell = Cell(place.cell.model, at_rate(variant, tried), seed)
        stored = StoredOutcome(place.results.parents[1] / cells_folder(place.results.name) / cell.folder)
        outcome = stored if stored.files.manifest.exists() else LocalOutcome(study, cell)
        reward = last_reward(outcome.frame("log"))
        if reward != choice["rewards"][f"{tried:g}"][str(seed)]:
            yield Link(f"tune: the reward of {cell.folder} is that of its log", False)
    again = best_rate(mean_rewards(choice["rewards"]), choice["config"]["recipe"])
    yield _same("tune: the rewards choose this learning rate", chosen, f"{again:g}")


def stored_walk(manifest: Mapping[str, Any], file: Path, cell: Cell) -> list[Step]:
    """As :func:`walk`, by a study's merged `manifest` alone, stored in `file`: the cells are not there."""
    base = base_of(file.parent, cell)
    by_cell = [(job, Cell(job["model"], job["variant"], job["seed"])) for job in manifest["jobs"]]
    jobs = [job for job, ran in by_cell if ran == cell or (ran == base and job["stage"] not in ("generate", "grade"))]
    try:
        check_chain(jobs)
        links = [Link(f"{file.name}: each job had the base model, weights and completions of the one before", True)]
    except UserError as error:
        links = [Link(str(error), False)]
    tuned = [job for job, ran in by_cell if job["stage"] == "tune" and ran[:2] == cell[:2]]
    rates = [f"{job['learning_rate']:g}" for job in (*jobs, *tuned) if job["stage"] in ("train", "tune") and tuned]
    links += [_same(f"{file.name}: the learning rate is the chosen one", *rates)] if len(rates) > 1 else []
    steps = []
    for job in [*jobs, *tuned]:
        shared = manifest["environments"][job["environment"]] | {"source": manifest["sources"][job["source"]]}
        steps.append(Step(f"{file.name}: {job['stage']}", [*_facts(job | shared)], []))
    return [*steps, Step(file.name, [], [*links, Link("verdicts, completions, weights and training files", None)])]


def _facts(job: Mapping[str, Any]) -> Iterator[str]:
    """What a job's manifest says about how its output was made."""
    config = job.get("config", {})
    if "engine" in job:
        yield f"{job['engine']} {job['engine_version']}"
    if "evaluation" in config and job.get("engine"):
        yield f"sampling {_pairs(config['evaluation'], _SAMPLING)}"
    if "method" in config:
        yield f"seed {config['seed']}"
        yield f"method {_pairs(config['method'])}"
        yield f"training {_pairs(config['training'], _TRAINING)}"
    if "rewards" in job:
        means = {f"{tried:g}": f"{mean:.4f}" for tried, mean in mean_rewards(job["rewards"]).items()}
        yield f"learning rate {job['learning_rate']:g}, chosen by the mean reward at each: {_pairs(means)}"
    if rates := (config or job).get("rates_of"):
        yield f"learning rate as {rates['study']} chose it, rates.json {_hash(rates['sha256'])}"
    names = ("base", "model", "completions", "grades")
    if hashes := [f"{name} {_hash(job[f'{name}_sha256'])}" for name in names if f"{name}_sha256" in job]:
        yield ", ".join(hashes)
    packages, platform = job["packages"], job["platform"]
    named = [f"{name} {packages[name]}" for name in ("torch", "trl", "transformers") if name in packages]
    source = job["source"]
    commit = "outside of git" if source["commit"] is None else f"commit {source['commit'][:12]}"
    commit += f"{' with changes' if source['dirty'] else ''}, library {_hash(source['sha256'])}"
    yield ", ".join([f"Python {job['python']}", *named, platform["cpu"], *platform["gpus"], commit])


def _pairs(values: Mapping[str, Any], keys: Iterable[str] | None = None) -> str:
    """Keys and values, without unset ones; of these `keys` alone if given."""
    chosen = values if keys is None else [key for key in keys if key in values]
    return ", ".join(f"{key} {values[key]}" for key in chosen if values[key] is not None)


def _same(what: str, first: str, second: str) -> Link:
    return Link(what if first == second else f"{what}: {_hash(first)} and {_hash(second)}", first == second)


def _hash(sha256: str) -> str:
    return sha256[:16]


def short(path: Path) -> str:
    """A path from the folder `results` on."""
    parts = path.parts
    return "/".join(parts[parts.index("results") if "results" in parts else 0 :])
