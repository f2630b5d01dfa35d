"""Finished cells that are stored one by one, without weights, so that several machines can run one study.

A study may take more hours than one machine has. ``results/cells/<study>/<cell>/`` holds what a finished cell leaves
for the evidence: scores, log, token sample, the manifests of its jobs, and each run that gave these bytes (commit,
machine, hashes of the code). The workflow does not run a stored cell that counts. A cell counts if its configuration is
the study's and its code is today's. Where code has changed, the workflow runs a sampled cell of each changed part
again, and ``collect`` refuses the study unless it gives the same bytes. Then the other cells of that code count too.
"""

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ict_core.config.comparison import compare
from ict_core.config.inputs import ScratchModel
from ict_core.config.study import Study
from ict_core.config.study_file import Cell
from ict_core.config.tuning import rate_of
from ict_core.errors import UserError
from ict_core.evidence.outcomes import JOBS, MADE, LocalOutcome, Outcome, StoredOutcome
from ict_core.process.machine import core_packages, hardware_class, machine_of
from ict_core.seeding import derive_seed
from ict_core.selection.registry import rule_module
from ict_core.store.code import edited, fingerprint
from ict_core.store.files import appearing
from ict_core.store.layout import BASE_VARIANT, LEARNING_CURVE, StoredCellFiles, StudyFiles, seed_of
from ict_core.store.manifests import read_manifest, write_manifest

_RESULTS = ("base_sha256", "problems_sha256", "model_sha256", "completions_sha256", "grades_sha256")
_NO_NUMBERS = {"ict-core", "snakemake", "matplotlib", "statsmodels", "scipy"}  # packages that change no number
_HANDED_ON = {(MADE, "generate"): "model_sha256", ("generate", "grade"): "completions_sha256"}
_LISTED = 5


class Counted(NamedTuple):
    """Which of a study's stored cells count, so that the workflow need not run them, and which it runs again."""

    cells: dict[Cell, Path]  # the folder of each cell that counts
    again: dict[Cell, Path]  # of each that is run again, as code has changed: `collect` compares both

    def outcome(self, cell: Cell, files: StudyFiles, graded: StudyFiles | None = None) -> Outcome:
        """The stored outcome of a cell that counts, else its :class:`LocalOutcome`."""
        return StoredOutcome(self.cells[cell]) if cell in self.cells else LocalOutcome(files, cell, graded)

    @property
    def manifests(self) -> list[Path]:
        """The files ``cell.json`` of all these stored cells."""
        return [StoredCellFiles(folder).manifest for folder in (*self.cells.values(), *self.again.values())]


NONE = Counted({}, {})


_Change = tuple[str, str, str]  # a part of the code, its hash when a cell was run, and its hash today


def all_cells(study: Study) -> list[Cell]:
    """Every cell of a study that may be stored: base models first, then all trained cells."""
    return [*study.all_bases(), *study.trained_cells(), *study.later_cells()]


def counted(study: Study, folder: Path | None, here: bool = True) -> Counted:
    """Which of the stored cells in a folder count, and which must be run again before the others count; None: no cell.

    Raises:
        UserError: a stored cell is not in the study or its configuration, or, if those that must be run again shall be
            run `here`, can be compared only on another machine.
        Damaged: its ``cell.json`` is not what was written.
    """
    if folder is None:
        return NONE
    expected = {cell: folder / cell.folder for cell in all_cells(study)}
    found = {cell: StoredOutcome(path) for cell, path in expected.items() if StoredCellFiles(path).manifest.exists()}
    for path in _folders(folder):
        if path not in expected.values():
            raise UserError(f"{path}: {study.name} has no such cell; remove it, or mend the study's grid")
    proven: set[_Change] = set()
    changed: dict[Cell, list[_Change]] = {}
    code = codes_of(study, found)
    for cell, outcome in found.items():
        check_configuration(study, cell, outcome.record, outcome.files.folder)
        codes = [run["code"] for run in outcome.record["runs"]]
        proven |= {change for old in codes for new in codes for change in _changes(old, new)}
        if changes := min((_changes(old, code[cell]) for old in codes), key=len):
            changed[cell] = changes
    again = _sampled(changed, proven, found)
    for cell in again if here else ():
        _check_machine(study, found[cell])
    folders = {cell: outcome.files.folder for cell, outcome in found.items()}
    return Counted({c: f for c, f in folders.items() if c not in again}, {c: folders[c] for c in again})


def check_again(study: Study, files: StudyFiles, again: Mapping[Cell, Path]) -> None:
    """Raise a UserError unless the cells that were run again after a change of code gave the stored bytes."""
    for cell, folder in again.items():
        stored = StoredOutcome(folder)
        if keys := _other(_results(stored.record), _results(_record(study, cell, LocalOutcome(files, cell)))):
            commit = stored.record["runs"][0]["commit"]
            raise UserError(
                f"{folder}: code has changed since it was stored, and run again it differs in {', '.join(keys)}; go "
                f"on at the commit of the stored cells ({commit}), or remove {folder.parents[2]}"
            )


def check_inputs(study: Study, files: StudyFiles, cells: Mapping[Cell, Path]) -> None:
    """Raise a UserError if a stored cell used other problems than the study's, or another rate than the chosen one."""
    from ict_core.store import records

    def check(folder: Path, what: str, then: Any, now: Any) -> None:
        if then != now:
            raise UserError(f"{folder}: its {what} is {then}, the study's {now}; remove it, and its cell is run here")

    for cell, folder in cells.items():
        record = StoredOutcome(folder).record
        hashes = {stage: job.get("problems_sha256") for stage, job in record["jobs"].items()}
        for stage, problems in ((MADE, study.training_problems(files, cell)), ("generate", files.eval_problems)):
            if hashes.get(stage) and problems.exists():
                check(folder, f"{stage}: problems_sha256", hashes[stage], records.content_hash(problems))
        if study.is_tuned(cell):
            chosen = read_manifest(study.rate_file(files, cell))["learning_rate"]
            check(folder, "learning rate", rate_in(record), chosen)


def check_configuration(study: Study, cell: Cell, record: Mapping[str, Any], folder: Path) -> None:
    """Raise a UserError if a folder holds another cell, or one of another configuration than the study's."""
    if record["cell"] != cell._asdict():
        raise UserError(f"{folder}: it holds {Cell(**record['cell']).folder}; remove it")
    jobs = record["jobs"]
    for stage, config in _configurations(study, cell).items():
        if stage not in jobs:
            raise UserError(f"{folder}: it has no {stage}, which the study asks for; remove it and take it in again")
        old = jobs[stage]["config"]
        if study.is_tuned(cell) and stage == MADE:  # `collect` compares the rate with the chosen one
            config["training"]["learning_rate"] = old.get("training", {}).get("learning_rate")
        if different := compare(old, config).different:
            key, stored, expected = different[0]
            raise UserError(
                f"{folder}: of another configuration: {key}: {stored} there, {expected} in the study"
                f"{f' (and {len(different) - 1} more)' if len(different) > 1 else ''}; remove it, or mend the study"
            )


def codes_of(study: Study, cells: Iterable[Cell]) -> dict[Cell, dict[str, str]]:
    """Hashes of the parts of the library, and of the packages, that determine each cell's bytes."""
    versions = json.dumps(_with_numbers(core_packages()), sort_keys=True)
    packages = hashlib.sha256(versions.encode()).hexdigest()[:16]
    hashed = functools.cache(fingerprint)  # the source is read once for all cells
    return {
        cell: {part: hashed(*modules) for part, modules in _modules(study, cell).items()} | {"packages": packages}
        for cell in cells
    }


def store_cell(study: Study, cell: Cell, outcome: Outcome, folder: Path) -> str:
    """Store a finished cell in a folder of its own, and return what was done: "stored", "confirmed" or "known".

    Raises:
        UserError: it is of another configuration, its code has been edited since, or what is stored contradicts it.
        Damaged: one of its files is not what was written.
    """
    from ict_core.store import records

    record = outcome.record if isinstance(outcome, StoredOutcome) else _record(study, cell, outcome)
    stored = StoredOutcome(folder) if StoredCellFiles(folder).manifest.exists() else None
    if stored is not None:
        if keys := _other(_results(stored.record), _results(record)):
            raise UserError(f"{folder}: contradicted by another run, in {', '.join(keys)}; one of the two is wrong")
        runs = [run for run in record["runs"] if run not in stored.record["runs"]]
        if not runs:
            return "known"
        record = {**stored.record, "runs": [*stored.record["runs"], *runs]}
    check_configuration(study, cell, record, outcome.files.folder if isinstance(outcome, StoredOutcome) else folder)
    frames = {name: (stored or outcome).frame(name) for name in record["frames"]}
    with appearing(folder, StoredCellFiles(folder).manifest.name) as partial:
        for name, frame in frames.items():
            records.write_frame(frame, StoredCellFiles(partial).frame(name), getattr(records, name.upper()))
        write_manifest(StoredCellFiles(partial).manifest, record)
    return "stored" if stored is None else "confirmed"


def finished(study: Study, files: StudyFiles) -> Iterator[tuple[Cell, LocalOutcome]]:
    """The cells of a study that are finished in its own folder."""
    for cell in all_cells(study):
        outcome = LocalOutcome(files, cell)
        if all(outcome.manifests[stage].exists() for stage in (JOBS if cell in study.evaluated else JOBS[:1])):
            yield cell, outcome


def stored_in(folder: Path) -> Iterator[tuple[Cell, StoredOutcome]]:
    """The cells that are stored in a folder."""
    for path in _folders(folder):
        model, variant, _ = path.relative_to(folder).parts
        if (number := seed_of(path)) is None:
            raise UserError(f"{path}: no folder of a cell; allowed: MODEL/VARIANT/seed-N, N a whole number")
        yield Cell(model, variant, number), StoredOutcome(path)


def rate_in(record: Mapping[str, Any]) -> float | None:
    """The learning rate at which a stored cell was trained; None for a base model."""
    return record["jobs"][MADE]["config"].get("training", {}).get("learning_rate")


def machine(run: Mapping[str, Any]) -> str:
    """The commit and the machine of a run, in words."""
    commit = f"{(run['commit'] or 'no commit')[:12]}{' with edits' if run['dirty'] else ''}"
    return f"{commit}, {', '.join([run['cpu'], *run['hardware'][1:]])}"


def _folders(folder: Path) -> list[Path]:
    """The folders of stored cells, without those that a killed job left half written."""
    found = sorted(path.parent for path in folder.glob(f"*/*/seed-*/{StoredCellFiles(folder).manifest.name}"))
    return [path for path in found if path.suffix != ".partial"]


def _configurations(study: Study, cell: Cell) -> dict[str, dict[str, Any]]:
    """The configuration of each job of a finished cell by its stage, as a manifest holds it."""
    started = bool(study.models[cell.model].supervised_start)
    is_base = cell.variant == BASE_VARIANT
    of_base = study.stage_config("supervised_start" if started else "base", cell) if is_base else {}
    configs = {MADE: of_base or study.resolve(cell)}
    if cell in study.evaluated:
        configs |= {"generate": study.stage_config("generate", cell), "grade": study.stage_config("grade")}
    return {stage: json.loads(json.dumps(config)) for stage, config in configs.items()}


def _modules(study: Study, cell: Cell) -> dict[str, tuple[str, ...]]:
    """The modules whose imports make up the code of a cell, by part."""
    parts: dict[str, tuple[str, ...]] = {}
    if cell.variant != BASE_VARIANT:
        rule = study.method_of(cell.variant).selector
        parts = {"training": ("stages.train",), f"rule {rule}": (f"selection.{rule_module(rule)}",)}
    elif isinstance(study.models[cell.model], ScratchModel):
        parts = {"pretraining": ("stages.pretrain",)}
    elif study.models[cell.model].supervised_start:
        parts = {"supervised start": ("stages.supervised_start",)}
    if cell in study.evaluated:
        parts |= {"sampling": ("stages.generate",), "grading": ("stages.grade",)}
    return parts


def _record(study: Study, cell: Cell, outcome: Outcome) -> dict[str, Any]:
    """The content of ``cell.json`` for a cell that has been run.

    A UserError if code or packages have changed since, or weights, completions and grades are of several runs.
    """
    from ict_core.store import records

    jobs = {stage: outcome.job(stage) for stage in _configurations(study, cell)}
    modules = [module for of_part in _modules(study, cell).values() for module in of_part]
    for stage, job in jobs.items():
        if files := edited(job["source"]["loaded"], *modules):
            raise UserError(
                f"{cell.folder}: {stage}: edited since it was run: {', '.join(files[:_LISTED])}; check out "
                f"{job['source']['commit']} to store it (snakemake runs it again here)"
            )
        if names := _other(_with_numbers(job["packages"]), _with_numbers(core_packages())):
            versions = ", ".join(f"{name} {job['packages'].get(name, 'none')}" for name in names)
            raise UserError(f"{cell.folder}: {stage}: run with {versions}; install that, or remove its output")
    for (before, after), key in _HANDED_ON.items():
        if after in jobs and jobs[after][key] != jobs[before][key]:
            raise UserError(f"{cell.folder}: {after}: of another {key} than {before}; run snakemake first")
    kinds = {name: getattr(records, name.upper()) for name in _frames(study, cell)}
    source, last = jobs[MADE]["source"], jobs[JOBS[-1] if "grade" in jobs else MADE]
    run = {
        "commit": source["commit"],
        "dirty": source["dirty"],
        **_machines(jobs[MADE], last),
        "code": codes_of(study, [cell])[cell],
    }
    return {
        "cell": cell._asdict(),
        "jobs": {stage: {k: v for k, v in job.items() if k != "files"} for stage, job in jobs.items()},
        "frames": {name: records.frame_hash(outcome.frame(name), kind) for name, kind in kinds.items()},
        "runs": [run],
    }


def _with_numbers(packages: Mapping[str, str]) -> dict[str, str]:
    """Those of the versions that may change a number."""
    return {name: version for name, version in packages.items() if name not in _NO_NUMBERS}


def _machines(made: Mapping[str, Any], last: Mapping[str, Any]) -> dict[str, Any]:
    """The machine of a cell's last job, as in :func:`machine_of`; for a training, all machines that it ran on."""
    trained = "earlier_machines" in made
    candidates = [*made.get("earlier_machines", []), *(machine_of(j["platform"], j["process"]) for j in (made, last))]
    machines = candidates if trained else candidates[-1:]
    gpus = {gpu for machine in machines for gpu in machine["hardware"][1:]}
    names = [dict.fromkeys(m["cpu"] for m in machines), dict.fromkeys(m["hardware"][0] for m in machines)]
    cpu, hardware = (" and ".join(several) for several in names)
    return {"cpu": cpu, "hardware": [hardware, *sorted(gpus)]}


def _frames(study: Study, cell: Cell) -> list[str]:
    """The frames of a cell that the evidence reads: scores, log, tokens and learning curve, as far as it has them."""
    evaluated, base = cell in study.evaluated, cell.variant == BASE_VARIANT
    in_grid = evaluated and not base and rate_of(cell.variant)[1] is None
    needed = {"scores": evaluated, "log": not base, "tokens": in_grid}
    needed |= {LEARNING_CURVE: in_grid and study.learning_curve is not None}
    return [name for name, is_needed in needed.items() if is_needed]


def _results(record: Mapping[str, Any]) -> dict[str, Any]:
    """All of a cell that does not depend on where and when it was run: hashes of its inputs and outputs."""
    hashes = {f"{s}: {key}": job.get(key) for s, job in record["jobs"].items() for key in _RESULTS}
    return hashes | {"learning rate": rate_in(record)} | {f"{k}.parquet": v for k, v in record["frames"].items()}


def _other(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [key for key in {**then, **now} if then.get(key) != now.get(key)]


def _changes(then: Mapping[str, str], now: Mapping[str, str]) -> list[_Change]:
    """The parts in `now` whose hash differs from that in `then`; a new part counts as changed."""
    return [(part, then.get(part, ""), value) for part, value in now.items() if then.get(part) != value]


def _sampled(
    changed: Mapping[Cell, list[_Change]], proven: set[_Change], found: Mapping[Cell, StoredOutcome]
) -> list[Cell]:
    """A few cells that together have every change that no run has proven harmless."""
    open_changes = {change for changes in changed.values() for change in changes} - proven
    ordered = sorted(  # first those that were trained, not taken over, and have most changes
        changed,
        key=lambda c: ("taken_over" in found[c].job(MADE), -len(changed[c]), derive_seed(0, "run again", repr(c))),
    )
    sampled = []
    for cell in ordered:
        if covered := open_changes & set(changed[cell]):
            open_changes -= covered
            sampled.append(cell)
    return sampled


def _check_machine(study: Study, outcome: StoredOutcome) -> None:
    """Raise a UserError if the bytes cannot be compared here: native numerics need the same class of hardware."""
    from ict_core.process.machine import this_platform

    local = {"platform": this_platform(), "process": {"numerics": {"chosen": study.numerics}}}
    hardware = hardware_class(local["platform"], local["process"])[:1]
    machines = [run["hardware"] for run in outcome.record["runs"]]
    on_gpus = any(len(kinds) > 1 for kinds in machines)  # this process sees no GPU, as it has not imported torch
    if hardware not in machines and not on_gpus:
        commit = outcome.record["runs"][0]["commit"]
        raise UserError(
            f"{outcome.files.folder}: code has changed since commit {commit}, and with native numerics only a machine "
            f"such as its own can show that the bytes are the same ({machines[0][0]}; here {hardware[0]}); go on at "
            "that commit, or there"
        )
