"""One run's files from its scores back to its base model, held against each other link by link."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ict_core.config import BASE_VARIANT, Cell, at_rate
from ict_core.errors import UserError
from ict_core.evidence import best_rate, last_reward, mean_rewards, score_grades, tried_in
from ict_core.store import (
    MANIFEST,
    StudyFiles,
    TrainFiles,
    base_number,
    check_files,
    hash_weights,
    read_manifest,
    records,
)
from ict_core.tools.verify import Place

_DIGITS = 16  # of a hash that is shown
_FACTS = ("steps", "prompts_per_step", "group_size", "learning_rate", "kl_coef", "temperature", "max_new_tokens")


@dataclass
class Walk:
    """What was seen of one run, in the order of the walk."""

    steps: list[tuple[str, str]] = field(default_factory=list)  # a file, and what it says
    links: list[tuple[str, bool | None]] = field(default_factory=list)  # what was held, and None where it is not there

    @property
    def whole(self) -> bool:
        """Whether no link is broken."""
        return all(holds is not False for _, holds in self.links)

    def step(self, file: Path, text: str) -> None:
        """Note what a file says."""
        self.steps.append((_short(file), text))

    def hold(self, what: str, first: str, second: str) -> None:
        """Hold two hashes against each other."""
        holds = first == second
        self.links.append((what if holds else f"{what}: {_hash(first)} and {_hash(second)}", holds))

    def hold_problems(self, verb: str, file: Path, manifest: Mapping[str, Any]) -> None:
        """Hold a file of problems, where it is there, against the manifest of what was made from it."""
        what = f"{verb} the problems of {_short(file)}"
        if file.exists():
            self.hold(what, records.content_hash(file), manifest["problems_sha256"])
        else:
            self.links.append((what, None))


def base_of(results: Path, cell: Cell) -> Cell:
    """The untrained model that a cell of a study with these results begins with, or is."""
    if cell.variant == BASE_VARIANT:
        return cell
    per_base = read_manifest(StudyFiles(results).settings).get("seeds_per_base")
    return Cell(cell.model, BASE_VARIANT, base_number(cell.seed, per_base))


def walk(results: Path, cell: Cell, scores: pd.DataFrame) -> Walk:
    """Follow one run through the files of its cell, from the study's `scores` of this cell."""
    seen, place = Walk(), Place(results, cell, base_of(results, cell).seed)
    for part in (_grades, _generation, _training):
        try:
            part(seen, place, scores)
        except (UserError, OSError) as error:  # a file is missing or damaged: the walk ends here
            seen.step(place.files.folder, f"BROKEN: {error}")
            seen.links.append((str(error), False))
    return seen


def _grades(seen: Walk, place: Place, scores: pd.DataFrame) -> None:
    files, manifest = place.files, read_manifest(place.files.grading)
    grades = records.read_frame(files.grades, records.GRADES)
    graded = records.content_hash(files.grades)
    seen.step(files.grades, f"{len(grades)} verdicts, {_hash(graded)}")
    order = ["benchmark", "problem"]
    ours, theirs = (f.sort_values(order, ignore_index=True) for f in (score_grades(grades, place.cell), scores))
    seen.links.append(("scores.parquet counts these verdicts", ours.equals(theirs[ours.columns])))
    seen.hold("grades.parquet is what grading.json says", graded, manifest["grades_sha256"])
    seen.step(files.grading, _code(manifest))
    texts = records.read_frame(files.completions, records.COMPLETIONS)
    sampled = records.content_hash(files.completions)
    seen.step(files.completions, f"{len(texts)} completions, {_hash(sampled)}")
    seen.hold("these completions were graded", sampled, manifest["completions_sha256"])
    seen.hold_problems("graded by", StudyFiles(place.results).eval_problems, manifest)


def _generation(seen: Walk, place: Place, _: pd.DataFrame) -> None:
    files, manifest = place.files, read_manifest(place.files.generation)
    evaluation = manifest["config"]["evaluation"]
    sampling = _pairs({key: evaluation[key] for key in ("temperature", "top_p", "max_new_tokens", "samples")})
    engine = f"{manifest['engine']} {manifest['engine_version']}, {sampling}"
    seen.step(files.generation, f"{engine}; weights {_hash(manifest['model_sha256'])}; {_code(manifest)}")
    sampled = records.content_hash(files.completions)
    seen.hold("generation.json made these completions", sampled, manifest["completions_sha256"])
    seen.hold_problems("answered", StudyFiles(place.results).eval_problems, manifest)
    made = read_manifest(place.trained / MANIFEST)
    weights = hash_weights(place.checkpoint)
    seen.hold("the weights that answered are those of the checkpoint", manifest["model_sha256"], weights)
    seen.hold("the checkpoint is what its manifest says", weights, made["model_sha256"])


def _training(seen: Walk, place: Place, _: pd.DataFrame) -> None:
    if not place.is_base:
        manifest = check_files(place.trained)
        config = manifest["config"]
        method = {key: value for key, value in config["method"].items() if value is not None}
        training = {key: config["training"][key] for key in _FACTS if key in config["training"]}
        weights = f"weights {_hash(manifest['model_sha256'])} from base {_hash(manifest['base_sha256'])}"
        seen.step(place.trained / MANIFEST, weights)
        facts = [f"seed {config['seed']}", f"method {_pairs(method)}", f"training {_pairs(training)}"]
        seen.steps += [("", fact) for fact in [*facts, _machine(manifest), _code(manifest)]]
        seen.links.append(("every file of the training is what its manifest says", True))
        seen.hold_problems("trained on", place.training_problems, manifest)
        seen.hold("it began with this base model", manifest["base_sha256"], hash_weights(place.base))
        if "tuning" in config:
            _tuning(
                seen, place, config["tuning"].get("variant", place.cell.variant), config["training"]["learning_rate"]
            )
        if rates := config.get("rates_of"):
            seen.steps.append(("", f"learning rate as {rates['study']} chose it, rates.json {_hash(rates['sha256'])}"))
    base = check_files(place.base)
    seen.step(place.base / MANIFEST, f"base model, weights {_hash(base['model_sha256'])}; {_code(base)}")
    seen.hold("the base model is what its manifest says", hash_weights(place.base), base["model_sha256"])


def _tuning(seen: Walk, place: Place, variant: str, rate: float) -> None:
    """How the learning rate of a training was chosen, and that the rewards of those trainings choose it again."""
    study = StudyFiles(place.results)
    file = study.chosen_rate(place.cell.model, variant)
    choice = read_manifest(file)
    seen.step(file, f"{_rewards(choice)}; {_code(choice)}")
    seen.hold("it trained at the learning rate that was chosen", f"{rate:g}", f"{choice['learning_rate']:g}")
    for tried, seed in tried_in(choice):
        cell = Cell(place.cell.model, at_rate(variant, tried), seed)
        train = TrainFiles(study.cell(cell.folder).train)
        log = records.read_frame(train.log, records.LOG, train.folder)
        if last_reward(log) != choice["rewards"][f"{tried:g}"][str(seed)]:
            seen.links.append((f"{file.name}: the reward of {cell.folder} is that of its log", False))
    again = best_rate(mean_rewards(choice["rewards"]), choice["config"]["recipe"])
    seen.hold("the rewards choose this learning rate", f"{choice['learning_rate']:g}", f"{again:g}")


def _rewards(choice: Mapping[str, Any]) -> str:
    means = {f"{tried:g}": f"{mean:.4f}" for tried, mean in mean_rewards(choice["rewards"]).items()}
    return f"learning rate {choice['learning_rate']:g}, chosen by the mean reward at each: {_pairs(means)}"


def stored_walk(manifest: Mapping[str, Any], file: Path, cell: Cell) -> Walk:
    """As :func:`walk`, by a study's merged manifest alone: its cells are not there."""
    seen = Walk()
    jobs = {j["stage"]: j for j in manifest["jobs"] if (j["model"], j["variant"], j["seed"]) == tuple(cell)}
    began = tuple(base_of(file.parent, cell))
    base = [j for j in manifest["jobs"] if (j["model"], j["variant"], j["seed"]) == began]
    for stage in ("grade", "generate", "train", "supervised_start", "pretrain", "fetch"):
        if stage in jobs:
            seen.steps.append((f"{file.name}: {stage}", _job(manifest, jobs[stage])))
    making = ("train", "supervised_start", "pretrain", "fetch")
    made = next((jobs[stage] for stage in making if stage in jobs), None)
    if made and "generate" in jobs:
        answered = jobs["generate"]["model_sha256"]
        seen.hold("the weights that answered are those that were made", answered, made["model_sha256"])
    tuned = [j for j in manifest["jobs"] if (j["stage"], j["model"], j["variant"]) == ("tune", *cell[:2])]
    if tuned and "train" in jobs:
        seen.steps.append((f"{file.name}: tune", _rewards(tuned[0])))
        rates = [f"{job['learning_rate']:g}" for job in (jobs["train"], tuned[0])]
        seen.hold("it trained at the learning rate that was chosen", *rates)
    if "train" in jobs and base:
        seen.hold("it began with this base model", jobs["train"]["base_sha256"], base[0]["model_sha256"])
    key = "completions_sha256"
    if key in jobs.get("grade", {}) and key in jobs.get("generate", {}):
        seen.hold("these completions were graded", jobs["generate"][key], jobs["grade"][key])
    seen.links.append(("verdicts, completions, weights and training files", None))
    return seen


def _job(manifest: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    words = [f"{job['engine']} {job['engine_version']}"] if "engine" in job else []
    hashes = {"weights": "model_sha256", "base": "base_sha256", "completions": "completions_sha256"}
    words += [f"{word} {_hash(job[key])}" for word, key in hashes.items() if key in job]
    return f"{', '.join(words)}; {_code({'source': manifest['sources'][job['source']]})}"


def _code(manifest: Mapping[str, Any]) -> str:
    """Commit, state of the tree and hash of the library."""
    source = manifest["source"]
    commit = "outside of git" if source["commit"] is None else f"commit {source['commit'][:12]}"
    return f"{commit}{' with changes' if source['dirty'] else ''}, library {_hash(source['sha256'])}"


def _machine(manifest: Mapping[str, Any]) -> str:
    packages, platform = manifest["packages"], manifest["platform"]
    named = [f"{name} {packages[name]}" for name in ("torch", "trl", "transformers") if name in packages]
    return ", ".join([f"Python {manifest['python']}", *named, platform["cpu"], *platform["gpus"]])


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())


def _hash(sha256: str) -> str:
    return sha256[:_DIGITS]


def _short(path: Path) -> str:
    """A path from the study's folder on."""
    parts = path.parts
    return "/".join(parts[parts.index("results") if "results" in parts else 0 :])


def samples(results: Path, cell: Cell, problem: str) -> Iterator[tuple[int, str, str]]:
    """(sample, verdict, text) of the completions of a problem, ``BENCHMARK/PROBLEM``; an error if there is none."""
    files = StudyFiles(results).cell(cell.folder)
    texts = records.read_frame(files.completions, records.COMPLETIONS)
    key = ["benchmark", "problem", "sample"]
    graded = texts.merge(records.read_frame(files.grades, records.GRADES)[[*key, "status"]], on=key)
    chosen = _rows(graded, problem, files.folder).sort_values("sample")
    yield from zip(chosen["sample"].tolist(), chosen["status"].tolist(), chosen["text"].tolist(), strict=True)


def question(file: Path, problem: str) -> "pd.Series[str]":
    """The row of a problem, ``BENCHMARK/PROBLEM``, in a file of ``records.PROBLEMS``; an error if it has none."""
    return _rows(records.read_frame(file, records.PROBLEMS), problem, file).iloc[0]


def _rows(frame: pd.DataFrame, problem: str, where: Path) -> pd.DataFrame:
    """A problem's rows; an error that names others where there are none."""
    benchmark, _, name = problem.partition("/")
    chosen = frame[(frame["benchmark"] == benchmark) & (frame["problem"] == name)]
    if chosen.empty:
        names = frame.loc[frame["benchmark"] == benchmark, "problem"].drop_duplicates()
        allowed = [f"{benchmark}/{other}" for other in names.head(5)]
        allowed = allowed or [f"{other}/..." for other in frame["benchmark"].unique()]
        told = f"{_short(where)} has no such problem; allowed: {', '.join(allowed)}, ..."
        raise UserError(f"--samples {problem}: {told}")
    return chosen
