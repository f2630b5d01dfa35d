"""The rollouts that a training has kept, as one page: by step, problem and reward, each token with ln p and weight."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ict_core.errors import UserError
from ict_core.evidence.run_faults import run_faults
from ict_core.models.read import read_tokenizer
from ict_core.shadow.texts import token_text
from ict_core.store import records
from ict_core.store.layout import MANIFEST, CellFiles, StudyFiles, TrainFiles
from ict_core.store.manifests import read_manifest
from ict_core.tools.inspection.page import page, short
from ict_core.tools.place import place_of


def rollouts_page(folder: Path, most: int) -> str:
    """The page of a cell, as HTML, with at most about `most` rollouts: of all steps, or of some evenly spaced ones.

    Mean reward and length are shown for every step, prompts if the study's problems are here.
    """
    place = place_of(folder)
    train = TrainFiles(CellFiles(folder).train)
    kept = sorted(train.rollouts.glob("*.parquet"))
    if not kept:
        raise UserError(
            f"{folder}: no rollouts are kept; state rollouts_mib in the study's file and train the cell again"
        )
    frames = [records.read_frame(file, records.KEPT_ROLLOUTS, train.folder) for file in kept]
    chosen = [*_some(frames, most)]
    selected = pd.concat(chosen, ignore_index=True)
    log = records.read_frame(train.log, records.LOG, train.folder)
    number = f"{len(selected):,} of {sum(map(len, frames)):,} rollouts, those of {len(chosen)} of {len(frames)} batches"
    facts = [f"{number}. A bar below marks a token that the rule kept."]
    if read_manifest(train.folder / MANIFEST)["config"]["method"].get("random_reward") is not None:
        facts.append("Rewards were drawn at random: here right and wrong say nothing of an answer.")
    faults = run_faults(log.assign(**place.cell._asdict()))
    facts += [
        f"At the end: {fault} {value:.3g}, from step {step}." for *_, fault, value, step in faults.values.tolist()
    ]
    data = {
        "title": "/".join(folder.resolve().parts[-4:]),
        "facts": facts,
        "steps": [_means(frame) for frame in frames],
        **_rollouts(selected, StudyFiles(place.results).train_problems),
    }
    tokenizer = read_tokenizer(CellFiles(folder).model)
    used = sorted({int(i) for ids in selected["ids"] for i in ids})
    return page(data | {"vocabulary": {i: token_text(tokenizer, i) for i in used}}, "Training rollouts", "rollouts")


def _some(frames: list[pd.DataFrame], most: int) -> Iterator[pd.DataFrame]:
    """Whole batches, from the first to the last or the first alone; whole groups of one that is too large."""
    steps = min(len(frames), max(1, most // max(map(len, frames))))
    for at in np.unique(np.linspace(0, len(frames) - 1, steps).round().astype(int)):
        size = int(frames[at]["rollout"].max()) + 1
        yield frames[at][frames[at]["group"] < max(1, most // size)]


def _means(frame: pd.DataFrame) -> dict[str, Any]:
    reward = frame["reward"].mean()
    return {
        "step": int(frame["step"].iloc[0]),
        "reward": None if np.isnan(reward) else short(reward),
        "length": short(frame["tokens"].mean()),
    }


def _rollouts(shown: pd.DataFrame, problems: Path) -> dict[str, Any]:
    """The rollouts and their problems, each once, with prompt and answer if the file of the problems is here."""
    key = ["benchmark", "problem"]
    names = shown[key].drop_duplicates(ignore_index=True)
    table = names.assign(prompt=None, answer=None)
    if problems.exists():
        every = records.read_frame(problems, records.PROBLEMS)[[*key, "prompt", "answer"]].drop_duplicates(key)
        table = names.merge(every, how="left").astype(object)
        table = table.where(table.notna(), None)
    numbers = {tuple(pair): number for number, pair in enumerate(names.to_numpy().tolist())}
    return {
        "problems": table.to_numpy().tolist(),
        "rollouts": [
            {
                **{name: row[name] for name in ("step", "group", "rollout", "truncated")},
                "problem": numbers[row["benchmark"], row["problem"]],
                "reward": None if np.isnan(row["reward"]) else short(row["reward"]),
                "advantage": short(row["advantage"]),
                "ids": row["ids"].tolist(),
                "logprob": [short(value) for value in row["logprob"].tolist()],
                "weight": _weights(row["weight"].tolist()),
            }
            for row in shown.to_dict("records")
        ],
    }


def _weights(weights: list[float]) -> list[float] | float:
    """The tokens' weights; one number if all are the same."""
    return short(weights[0]) if len(set(weights)) == 1 else [short(weight) for weight in weights]
