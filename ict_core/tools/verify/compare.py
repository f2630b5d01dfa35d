"""The differences between two runs: a cell and its rerun, or a whole study and a stored one."""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from pandas.api.types import is_float_dtype
from tabulate import tabulate

from ict_core.config.comparison import compare
from ict_core.config.study import Study
from ict_core.config.study_file import Cell
from ict_core.errors import UserError
from ict_core.evidence.collect import score_grades
from ict_core.evidence.stored import kinds
from ict_core.process.machine import hardware_class
from ict_core.statistics.arms import run_frame
from ict_core.statistics.metrics import samples_needed
from ict_core.statistics.schemas import AVERAGE, PASS_METRICS
from ict_core.store import records
from ict_core.store.files import hash_file, hash_tree, hash_weights
from ict_core.store.layout import MANIFEST, TABLE_KINDS, StudyFiles, TrainFiles
from ict_core.store.manifests import manifest, read_manifest
from ict_core.tools.explain.numbers import claims_of
from ict_core.tools.place import Place
from ict_core.tools.walk import links_of

_LIBRARY = Path(__file__).parents[2]
_BEFORE = ("config", "packages", "python")
_LISTED = 20  # lines of a list
_INPUTS = ("problems", "base")
_AFTER = ("platform", "process", "ranks", "trl", "engine_settings")


def changes_before(place: Place, study: Study, stages: Sequence[str]) -> Iterator[str]:
    """The differences in configuration, packages, code and inputs from those of the stored cell, a line each."""
    for stage in stages:
        made = "base" if stage == "pretrain" else stage
        stored = read_manifest(place.manifest(stage))
        now = manifest(json.loads(json.dumps(study.stage_config(made, place.cell))))
        lines = [*_differences(stored, now, _BEFORE), *_code(stored["source"]["loaded"])]
        yield from (f"{stage}: {line}" for line in lines)
        yield from (link.what for link in links_of(place, made, _INPUTS) if link.holds is False)


def _code(loaded: dict[str, str]) -> Iterator[str]:
    """The library's files that the job had loaded and that have changed since, a line each."""
    for name, sha256 in loaded.items():
        file = _LIBRARY / name
        if not file.exists():
            yield f"ict_core/{name}: no longer there"
        elif hash_file(file)[: len(sha256)] != sha256:
            yield f"ict_core/{name}: {sha256} -> {hash_file(file)[: len(sha256)]}"


def changes_after(place: Place, again: Place, stages: Sequence[str]) -> Iterator[str]:
    """The differences in machine, threads, flags and resolved settings of the libraries, by the manifests of both.

    If both have one :func:`~ict_core.process.machine.hardware_class`, another CPU is no difference.
    """
    for stage in stages:
        stored, now = (read_manifest(p.manifest(stage)) for p in (place, again))
        if stage == "generate" and stored["engine_settings"] is None:  # all was in the cache, sampled by another job
            continue
        if hardware_class(stored["platform"], stored["process"]) == hardware_class(now["platform"], now["process"]):
            for content in (stored, now):
                content["platform"] = {k: v for k, v in content["platform"].items() if not k.startswith("cpu")}
        yield from (f"{stage}: {line}" for line in _differences(stored, now, _AFTER))


def on_gpu(place: Place, again: Place, stages: Sequence[str]) -> bool:
    """Whether a GPU took part in either run."""
    return any(read_manifest(p.manifest(stage))["platform"]["gpus"] for p in (place, again) for stage in stages)


def _differences(stored: dict[str, Any], now: dict[str, Any], keys: Sequence[str]) -> Iterator[str]:
    before, after = ({key: content[key] for key in keys if key in content} for content in (stored, now))
    for key, old, new in compare(before, after).different:
        yield f"{key}: {old} -> {new}"


def listed(lines: Sequence[str], longest: int | None = None) -> list[str]:
    """The first lines of a list, indented and none longer than `longest`, and how many more there are."""
    more = [f"  and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    return [*(f"  {line[:longest]}" for line in lines[:_LISTED]), *more]


def changes_page(changes: Sequence[str]) -> str:
    """What has changed since the cell was made; empty if nothing has."""
    if not changes:
        return ""
    head = "Changed since the cell was made, so that a difference would prove nothing:"
    return "\n".join([head, *listed(changes), "", ""])


_SHOWN = 12  # digits of a hash
_KEYS = ("step", "group", "rollout", "position", "benchmark", "problem", "sample")  # columns that identify a row


class Compared(NamedTuple):
    """One thing that both runs have, with the start of its hash or its number in each."""

    what: str
    stored: str
    again: str
    equal: bool  # bit by bit
    difference: str = ""  # by how much they differ, in words


def compare_stage(stage: str, stored: Place, again: Place, steps: int | None) -> Iterator[Compared]:
    """Compare what a stage's inputs determine of its output, so no wall time; of a training all or `steps` steps."""
    if stage in ("train", "pretrain") and steps is None:
        yield from _checkpoints(stored, again)
    if stage == "train":
        trained = [TrainFiles(place.trained) for place in (stored, again)]
        yield _frames([files.log for files in trained], records.LOG, steps)
        yield _frames([files.tokens for files in trained], records.TOKENS, steps)
        if all(files.learning_curve.exists() for files in trained):
            yield _frames([files.learning_curve for files in trained], records.LEARNING_CURVE, steps)
    elif stage == "generate":
        yield _frames([place.files.completions for place in (stored, again)], records.COMPLETIONS)
    elif stage == "grade":
        files = [place.files.grades for place in (stored, again)]
        yield _frames(files, records.GRADES)
        yield from _scores(files, stored.cell)


def _checkpoints(stored: Place, again: Place) -> Iterator[Compared]:
    weights = _hashes("weights", *(hash_weights(place.checkpoint) for place in (stored, again)))
    yield weights if weights.equal else weights._replace(difference=_weights(stored, again))
    texts = ([f for f in p.checkpoint.glob("*.json") if f.name != MANIFEST] for p in (stored, again))
    yield _hashes("configuration and tokenizer", *map(hash_tree, texts))


def _hashes(what: str, stored: str, again: str) -> Compared:
    return Compared(what, stored[:_SHOWN], again[:_SHOWN], stored == again)


def _weights(stored: Place, again: Place) -> str:
    """The largest difference of a weight."""
    before, after = (_tensors(place.checkpoint) for place in (stored, again))
    if {name: a.shape for name, a in before.items()} != {name: b.shape for name, b in after.items()}:
        return "other tensors"
    gaps = {name: float((a.double() - after[name].double()).abs().max()) for name, a in before.items()}
    name = max(gaps, key=lambda name: (math.isnan(gaps[name]), gaps[name]))
    return f"a weight differs by {gaps[name]:.3g} at most ({name})"


def _tensors(checkpoint: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return {k: v for file in sorted(checkpoint.glob("*.safetensors")) for k, v in load_file(file).items()}


def _frames(files: Sequence[Path], kinds: dict[str, str], steps: int | None = None) -> Compared:
    """Compare two files of one kind of frame; of a training's frame only the first `steps` steps, if given."""
    stored, again = (records.read_frame(file, kinds) for file in files)
    what = files[0].name if "step" in kinds else files[0].stem
    if steps is not None:
        what += f", steps 0 to {steps - 1}"
        stored, again = (frame[frame["step"] < steps] for frame in (stored, again))
    compared = _hashes(what, *(records.frame_hash(frame, kinds) for frame in (stored, again)))
    if compared.equal:
        return compared
    return compared._replace(difference=_difference(stored.reset_index(drop=True), again.reset_index(drop=True)))


def _scores(files: Sequence[Path], cell: Cell) -> Iterator[Compared]:
    """Compare the scores that two files of grades give."""
    scores = [score_grades(records.read_frame(file, records.GRADES), cell) for file in files]
    yield _hashes("scores", *(records.frame_hash(frame, records.SCORES) for frame in scores))
    enough = min(int(frame["n"].min()) for frame in scores)  # graded samples of every problem
    for metric in (metric for metric in PASS_METRICS if samples_needed(metric) <= enough):
        first, second = (_average(frame, metric) for frame in scores)
        difference = "" if first == second else f"{100 * (second - first):+.2f} points"
        texts = [f"{100 * value:.2f} %" for value in (first, second)]
        yield Compared(f"{metric}, average", texts[0], texts[1], first == second, difference)


def _average(scores: pd.DataFrame, metric: str) -> float:
    runs = run_frame(scores, [metric])
    return float(runs.loc[runs["benchmark"] == AVERAGE, "value"].iloc[0])


def _difference(stored: pd.DataFrame, again: pd.DataFrame) -> str:
    """How many rows differ, the first of them, in which columns, and the largest differences of numbers."""
    both = min(len(stored), len(again))
    a, b = stored[:both], again[:both][stored.columns]
    unequal = (a != b) & ~(a.isna() & b.isna())
    texts = [] if len(stored) == len(again) else [f"{len(stored)} and {len(again)} rows"]
    if both and (rows := unequal.any(axis=1)).any():
        first = ", ".join(f"{key} {a.loc[rows, key].iloc[0]}" for key in a.columns if key in _KEYS)
        numbers = [c for c in a.columns[unequal.any()] if is_float_dtype(a[c])]
        gaps = {c: (a[c] - b[c])[unequal[c]].abs().max(skipna=False) for c in numbers}
        names = [f"{c} by {gaps[c]:.3g} at most" if c in gaps else c for c in a.columns[unequal.any()]]
        texts.append(f"{100 * rows.mean():.1f} % of the rows, first {first}: {', '.join(names)}")
    return "; ".join(texts)


def verify_page(rows: Sequence[Compared]) -> str:
    """A line for each thing that was compared."""
    body = [(r.what, r.stored, r.again, "yes" if r.equal else "NO", r.difference) for r in rows]
    return tabulate([("what", "stored", "again", "equal", ""), *body], tablefmt="plain", disable_numparse=True) + "\n"


def verdict(rows: Sequence[Compared], *, changed: bool, gpu: bool) -> str:
    """The last line of `ict verify`; `changed`: something had changed before the rerun, `gpu`: a GPU took part."""
    unequal = [row.what for row in rows if not row.equal]
    if not unequal:
        return f"equal: all {len(rows)} are the same, bit by bit"
    text = f"different: {', '.join(unequal)}"
    if changed:
        text += "; not the same code, configuration, packages or machine made both, as said above"
    if gpu:
        text += "; on a GPU the same bits are not promised (docs/statistics.md, 'The same seed again')"
    return text


_RUN = StudyFiles(Path())
# the files with wall times
_TIMED = (_RUN.frame("compute"), *(_RUN.table("compute", kind) for kind in TABLE_KINDS), _RUN.manifest)
_LONGEST = 200  # characters of a line of a list


def against(results: Path, stored: Path) -> tuple[str, bool]:
    """Compare a finished run, ``results/STUDY``, with one that `make reference` stored, ``results/reference/mini``.

    Returns what `ict verify --against` prints, and whether every stored file without wall times is the same bytes.
    """
    studies = [StudyFiles(folder) for folder in (stored, results)]
    for file in (file for study in studies for file in (study.settings, study.claims, study.manifest)):
        if not file.is_file():
            raise UserError(f"{file}: no such file; allowed: the folder of a study that has ended well")
    lines = [f"{results} against {stored}"]
    settings = [read_manifest(study.settings) for study in studies]
    if keys := [f"{key}: {then} -> {now}" for key, then, now in compare(*settings).different]:
        lines += ["not of the same configuration:", *listed(keys, _LONGEST)]
    timed = {path.as_posix() for path in _TIMED}
    names = {path.relative_to(stored).as_posix() for path in stored.rglob("*") if path.is_file()} - timed
    states = {name: _compared(results / name, stored / name) for name in sorted(names)}
    differing = [f"{name} {state}" for name, state in states.items() if state != "same"]
    same, uncompared = len(states) - len(differing), "(wall times and manifests are not compared)"
    lines += [f"files: {same} of {len(states)} are the same bytes {uncompared}", *listed(differing, _LONGEST)]
    theirs, ours = (dict(claims_of(study.claims)[1][["id", "verdict"]].to_numpy().tolist()) for study in studies)
    both = [name for name in theirs if name in ours]
    changed = [f"{name}: {theirs[name]} -> {ours[name]}" for name in both if theirs[name] != ours[name]]
    lines += [f"verdicts: {len(both) - len(changed)} of {len(both)} are the same", *listed(changed, _LONGEST)]
    then_kinds, now_kinds = (kinds(read_manifest(study.manifest)) for study in studies)
    causes = [f"{kind}: {then} -> {now_kinds[kind]}" for kind, then in then_kinds.items() if now_kinds[kind] != then]
    if differing and causes:
        lines += ["what may be the cause:", *listed(causes, _LONGEST)]
    return "\n".join(lines) + "\n", not differing


def _compared(ours: Path, theirs: Path) -> str:
    if not ours.is_file():
        return "missing"
    return "same" if hash_file(ours) == hash_file(theirs) else "differs"
