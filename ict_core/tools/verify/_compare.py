"""Two runs of one cell, file by file: hashes of what they hold, and where these differ, by how much."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
from tabulate import tabulate

from ict_core.config import Cell
from ict_core.evidence import score_grades
from ict_core.statistics import AVERAGE, run_frame, samples_needed
from ict_core.store import MANIFEST, TrainFiles, hash_tree, hash_weights, records
from ict_core.tools.verify._cell import Place

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
        stored, again: of the stored run and the rerun, the beginning of a hash or a number.
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
        steps: optimiser steps that were trained again, whose rows alone are compared; None for a whole training.
    """
    if stage in ("train", "pretrain") and steps is None:
        yield from _checkpoints(stored, again)
    if stage == "train":
        trained = [TrainFiles(place.trained) for place in (stored, again)]
        yield _frames([files.log for files in trained], records.LOG, _log, steps)
        yield _frames([files.tokens for files in trained], records.TOKENS, _tokens, steps)
    elif stage == "generate":
        files = [place.files.completions for place in (stored, again)]
        yield _frames(files, records.COMPLETIONS, _share("text", "of the completions differ"))
    elif stage == "grade":
        files = [place.files.grades for place in (stored, again)]
        yield _frames(files, records.GRADES, _share("status", "of the verdicts differ"))
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
    ours, theirs = (_tensors(place.checkpoint) for place in (stored, again))
    if ours.keys() != theirs.keys():
        return "other tensors"
    largest, name = max((float((a.double() - theirs[k].double()).abs().max()), k) for k, a in ours.items())
    return f"a weight differs by {largest:.3g} at most ({name})"


def _tensors(checkpoint: Path) -> "dict[str, Tensor]":
    from safetensors.torch import load_file

    return {k: v for file in sorted(checkpoint.glob("*.safetensors")) for k, v in load_file(file).items()}


def _frames(files: Sequence[Path], kinds: dict[str, str], tell: Tell, steps: int | None = None) -> Compared:
    """Two files of one kind of frame, of a log or token sample as far as it was trained again."""
    stored, again = (records.read_frame(file, kinds) for file in files)
    what = files[0].name if "step" in kinds else files[0].stem
    if steps is not None:
        what += f", steps 0 to {steps - 1}"
        stored = stored[stored["step"] < steps]
    compared = _hashes(what, *(records.frame_hash(frame, kinds) for frame in (stored, again)))
    if compared.equal:
        return compared
    rows = "" if len(stored) == len(again) else f"{len(stored)} and {len(again)} rows; "
    return compared._replace(difference=rows + tell(stored.reset_index(drop=True), again.reset_index(drop=True)))


def _scores(files: Sequence[Path], cell: Cell) -> Iterator[Compared]:
    """What two files of grades count to."""
    scores = [score_grades(records.read_frame(file, records.GRADES), cell) for file in files]
    yield _hashes("scores", *(records.frame_hash(frame, records.SCORES) for frame in scores))
    enough = min(int(frame["n"].min()) for frame in scores)  # graded samples of every problem
    for metric in (metric for metric in _METRICS if samples_needed(metric) <= enough):
        first, second = (_average(frame, metric) for frame in scores)
        difference = "" if first == second else f"{100 * (second - first):+.2f} points"
        texts = [f"{100 * value:.2f} %" for value in (first, second)]
        yield Compared(f"{metric}, average", texts[0], texts[1], first == second, difference)


def _average(scores: pd.DataFrame, metric: str) -> float:
    runs = run_frame(scores, [metric])
    return float(runs.loc[runs["benchmark"] == AVERAGE, "value"].iloc[0])


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
    text = f"{100 * float(other.mean()):.1f} % of the rollouts differ"
    if len(stored) == len(again) and not other.any():
        text += f"; largest H1 {float((stored['h1'] - again['h1']).abs().max()):.3g} nats"
    return text


def _share(column: str, what: str) -> Tell:
    """Of how many answers a column is not the same."""

    def tell(stored: pd.DataFrame, again: pd.DataFrame) -> str:
        key = ["benchmark", "problem", "sample"]
        both = stored[[*key, column]].merge(again[[*key, column]], on=key, how="outer", suffixes=("", "_again"))
        other = both[column].ne(both[f"{column}_again"])
        return f"{100 * float(other.mean()):.1f} % {what}"

    return tell


def verify_page(rows: Sequence[Compared]) -> str:
    """A line for each thing that was compared."""
    body = [(r.what, r.stored, r.again, "yes" if r.equal else "NO", r.difference) for r in rows]
    return tabulate([("what", "stored", "again", "equal", ""), *body], tablefmt="plain", disable_numparse=True) + "\n"


def verdict(rows: Sequence[Compared], *, changed: bool, gpu: bool) -> str:
    """The last line of `ict verify`: whether something had `changed` before, or a `gpu` took part."""
    other = [row.what for row in rows if not row.equal]
    if not other:
        return f"equal: all {len(rows)} are the same, bit by bit"
    text = f"different: {', '.join(other)}"
    if changed:
        text += "; not the same code, configuration, packages or machine made both, as said above"
    if gpu:
        text += "; on a GPU the same bits are not promised (docs/statistics.md, 'The same seed again')"
    return text
