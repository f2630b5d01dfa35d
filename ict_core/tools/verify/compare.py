"""Two runs of one cell, file by file: hashes of what they hold, and where these differ, by how much."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from ict_core.evidence.scores import score_grades
from ict_core.statistics.metrics import samples_needed
from ict_core.statistics.names import AVERAGE
from ict_core.statistics.runs import run_frame
from ict_core.store import records
from ict_core.store.hashes import hash_tree, hash_weights
from ict_core.store.layout import MANIFEST, TrainFiles
from ict_core.tools.verify.cell import Place

if TYPE_CHECKING:
    from torch import Tensor

_SHOWN = 12  # digits of a hash
_LOGGED = ("reward", "h1", "h2", "length_mean", "loss", "grad_norm")  # whose differences are told
_METRICS = ("pass@1", "pass@4")


Tell = Callable[[pd.DataFrame, pd.DataFrame], str]
"""Two frames that differ -> by how much."""


class Compared(NamedTuple):
    """One thing that both runs have.

    Attributes:
        what: its name.
        stored: of the stored run, the beginning of a hash or a number.
        again: of the rerun.
        equal: whether both hold the same, bit by bit.
        difference: by how much they differ, in words; empty where they do not.
    """

    what: str
    stored: str
    again: str
    equal: bool
    difference: str = ""


def compare_stage(stage: str, stored: Place, again: Place, steps: int | None) -> Iterator[Compared]:
    """All that a stage wrote and that its inputs determine: no wall time, no manifest.

    Args:
        stage: of both runs.
        stored: the study's own.
        again: the rerun.
        steps: optimiser steps that were trained again, whose rows alone are compared; None for a whole training.
    """
    if stage in ("train", "pretrain"):
        if steps is None:
            yield from _checkpoints(stored, again)
        if stage == "train":
            yield from _training(stored, again, steps)
    elif stage == "generate":
        files = (place.files.completions for place in (stored, again))
        ours, theirs = (records.read_frame(file, records.COMPLETIONS) for file in files)
        yield _frames("completions", records.COMPLETIONS, ours, theirs, _completions)
    else:
        yield from _grades(stored, again)


def _checkpoints(stored: Place, again: Place) -> Iterator[Compared]:
    hashes = [hash_weights(place.checkpoint) for place in (stored, again)]
    weights = _hashes("weights", *hashes)
    yield weights if weights.equal else weights._replace(difference=_weights(stored, again))
    yield _hashes("configuration and tokenizer", *(_texts(place.checkpoint) for place in (stored, again)))


def _hashes(what: str, stored: str, again: str) -> Compared:
    return Compared(what, stored[:_SHOWN], again[:_SHOWN], stored == again)


def _texts(checkpoint: Path) -> str:
    return hash_tree(file for file in checkpoint.glob("*.json") if file.name != MANIFEST)


def _weights(stored: Place, again: Place) -> str:
    """The largest difference of a weight."""
    ours, theirs = (_tensors(place.checkpoint) for place in (stored, again))
    if ours.keys() != theirs.keys():
        return "other tensors"
    largest, name = max((float((a.double() - theirs[k].double()).abs().max()), k) for k, a in ours.items())
    return f"a weight differs by {largest:.3g} at most ({name})"


def _tensors(checkpoint: Path) -> "dict[str, Tensor]":
    from safetensors.torch import load_file

    return {k: v for file in sorted(checkpoint.glob("*.safetensors")) for k, v in load_file(file).items()}


def _training(stored: Place, again: Place, steps: int | None) -> Iterator[Compared]:
    of_steps = "" if steps is None else f", steps 0 to {steps - 1}"
    trained = [TrainFiles(place.trained) for place in (stored, again)]
    logs, samples = [files.log for files in trained], [files.tokens for files in trained]
    for files, columns, tell in ((logs, records.LOG, _log), (samples, records.TOKENS, _tokens)):
        ours, theirs = (records.read_frame(file, columns) for file in files)
        if steps is not None:
            ours = ours[ours["step"] < steps]
        yield _frames(f"{files[0].name}{of_steps}", columns, ours, theirs, tell)


def _grades(stored: Place, again: Place) -> Iterator[Compared]:
    ours, theirs = (records.read_frame(p.files.grades, records.GRADES) for p in (stored, again))
    yield _frames("grades", records.GRADES, ours, theirs, _statuses)
    scores = [score_grades(frame, stored.cell) for frame in (ours, theirs)]
    yield _hashes("scores", *(records.frame_hash(frame, records.SCORES) for frame in scores))
    enough = min(int(frame["n"].min()) for frame in scores)  # graded samples of every problem
    for metric in (metric for metric in _METRICS if samples_needed(metric) <= enough):
        first, second = (_average(frame, metric) for frame in scores)
        difference = "" if first == second else f"{100 * (second - first):+.2f} points"
        texts = (f"{100 * value:.2f} %" for value in (first, second))
        yield Compared(f"{metric}, average", next(texts), next(texts), first == second, difference)


def _average(scores: pd.DataFrame, metric: str) -> float:
    runs = run_frame(scores, [metric])
    return float(runs.loc[runs["benchmark"] == AVERAGE, "value"].iloc[0])


def _frames(what: str, columns: dict[str, str], stored: pd.DataFrame, again: pd.DataFrame, tell: Tell) -> Compared:
    compared = _hashes(what, *(records.frame_hash(frame, columns) for frame in (stored, again)))
    if compared.equal:
        return compared
    rows = "" if len(stored) == len(again) else f"{len(stored)} and {len(again)} rows; "
    return compared._replace(difference=rows + tell(stored.reset_index(drop=True), again.reset_index(drop=True)))


def _log(stored: pd.DataFrame, again: pd.DataFrame) -> str:
    """The first step that differs, and the largest difference of what is logged."""
    both = min(len(stored), len(again))
    a, b = stored[:both], again[:both]
    same = ((a == b) | (a.isna() & b.isna())).all(axis=1)
    gaps = {name: (a[name] - b[name]).abs().max() for name in _LOGGED if not a[name].isna().all()}
    first = "" if same.all() else f"from step {a.loc[~same, 'step'].iloc[0]} on; largest "
    return first + ", ".join(f"{name} {gap:.3g}" for name, gap in gaps.items())


def _tokens(stored: pd.DataFrame, again: pd.DataFrame) -> str:
    """The share of the rollouts that have other tokens, and the largest difference of an entropy where all agree."""
    key = ["step", "group", "rollout"]
    texts = [frame.groupby(key)["token"].apply(tuple) for frame in (stored, again)]
    other = texts[0].ne(texts[1].reindex(texts[0].index))
    told = f"{100 * float(other.mean()):.1f} % of the rollouts differ"
    if len(stored) == len(again) and not other.any():
        told += f"; largest H1 {float((stored['h1'] - again['h1']).abs().max()):.3g} nats"
    return told


def _completions(stored: pd.DataFrame, again: pd.DataFrame) -> str:
    return _share(stored, again, "text", "of the completions differ")


def _statuses(stored: pd.DataFrame, again: pd.DataFrame) -> str:
    return _share(stored, again, "status", "of the verdicts differ")


def _share(stored: pd.DataFrame, again: pd.DataFrame, column: str, what: str) -> str:
    key = ["benchmark", "problem", "sample"]
    both = stored[[*key, column]].merge(again[[*key, column]], on=key, how="outer", suffixes=("", "_again"))
    other = both[column].ne(both[f"{column}_again"])
    return f"{100 * float(other.mean()):.1f} % {what}"
