"""What is no longer as it was when a cell was made: then a difference proves nothing."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ict_core.config import Study, compare
from ict_core.process import hardware_class
from ict_core.store import MANIFEST, StudyFiles, hash_file, hash_weights, manifest, read_manifest
from ict_core.store.records import content_hash
from ict_core.tools.verify._cell import Place

_LIBRARY = Path(__file__).parents[2]
_BEFORE = ("config", "packages", "python")
_LISTED = 20  # lines of a list
_AFTER = ("platform", "process", "ranks", "trl", "engine_settings")


def manifest_of(place: Place, stage: str) -> dict[str, Any]:
    """The manifest that a stage wrote."""
    named = {"generate": place.files.generation, "grade": place.files.grading}
    return read_manifest(named.get(stage, place.trained / MANIFEST))


def changes_before(place: Place, study: Study, stages: Sequence[str]) -> Iterator[str]:
    """What configuration, packages, code and inputs differ in from those that made the stored cell, a line each."""
    for stage in stages:
        stored = manifest_of(place, stage)
        config = study.stage_config("base" if stage == "pretrain" else stage, place.cell)  # type: ignore[arg-type]
        now = manifest(json.loads(json.dumps(config)))
        lines = [*_differences(stored, now, _BEFORE), *_code(stored["source"]["loaded"])]
        yield from (f"{stage}: {line}" for line in [*lines, *_inputs(place, stage, stored)])


def _code(loaded: dict[str, str]) -> Iterator[str]:
    """The library's files that the job had loaded and that are other ones now."""
    for name, sha256 in loaded.items():
        file = _LIBRARY / name
        if not file.exists():
            yield f"ict_core/{name}: no longer there"
        elif hash_file(file)[: len(sha256)] != sha256:
            yield f"ict_core/{name}: {sha256} -> {hash_file(file)[: len(sha256)]}"


def _inputs(place: Place, stage: str, stored: dict[str, Any]) -> Iterator[str]:
    files = StudyFiles(place.results)
    problems = files.train_problems if stage == "train" else files.eval_problems
    if "problems_sha256" in stored and content_hash(problems) != stored["problems_sha256"]:
        yield f"{problems}: other problems"
    if stage == "train" and hash_weights(place.base) != stored["base_sha256"]:
        yield f"{place.base}: other weights"


def changes_after(place: Place, again: Place, stages: Sequence[str]) -> Iterator[str]:
    """What machine, threads, flags and resolved settings of the libraries differ in, by the manifests of both.

    Where the numerics make two CPUs one (:func:`~ict_core.process._machine.hardware_class`), another CPU is no change.
    """
    for stage in stages:
        stored, now = (manifest_of(p, stage) for p in (place, again))
        if stage == "generate" and stored["engine_settings"] is None:  # all was in the cache: another job sampled it
            continue
        if hardware_class(stored["platform"], stored["process"]) == hardware_class(now["platform"], now["process"]):
            for content in (stored, now):
                content["platform"] = {k: v for k, v in content["platform"].items() if not k.startswith("cpu")}
        yield from (f"{stage}: {line}" for line in _differences(stored, now, _AFTER))


def on_gpu(place: Place, again: Place, stages: Sequence[str]) -> bool:
    """Whether a GPU took part, then or now."""
    return any(manifest_of(p, stage)["platform"]["gpus"] for p in (place, again) for stage in stages)


def _differences(stored: dict[str, Any], now: dict[str, Any], keys: Sequence[str]) -> Iterator[str]:
    ours, theirs = ({key: content[key] for key in keys if key in content} for content in (stored, now))
    for key, then, today in compare(ours, theirs).different:
        yield f"{key}: {then} -> {today}"


def listed(lines: Sequence[str], longest: int | None = None) -> list[str]:
    """The first lines of a list, indented and none longer than `longest`, and how many more there are."""
    more = [f"  and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    return [*(f"  {line[:longest]}" for line in lines[:_LISTED]), *more]


def changes_page(changes: Sequence[str]) -> str:
    """What has changed since the cell was made; nothing where nothing has."""
    if not changes:
        return ""
    head = "Changed since the cell was made, so that a difference would prove nothing:"
    return "\n".join([head, *listed(changes), "", ""])
