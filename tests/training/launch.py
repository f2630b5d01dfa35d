"""Starts the programs of this folder, with one rank or several, and reads what they leave."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import torch

from ict_core.store.layout import TrainFiles

HERE = Path(__file__).parent
RECIPE = {
    "prompts_per_step": 3,
    "group_size": 4,
    "steps": 2,
    "learning_rate": 1e-3,
    "lr_warmup_steps": 0,
    "weight_decay": 0.01,
    "grad_clip": 1.0,
    "adam_betas": [0.9, 0.999],
    "kl_coef": 0.05,
    "clip_low": 0.2,
    "clip_high": 0.2,
    "temperature": 0.9,
    "max_new_tokens": 12,
    "micro_batch_sequences": 2,
    "precision": "float32",
    "threads": 1,
    "token_sample_every": 1,
    "token_sample_groups": 3,
}

TOP = {"score": "js", "scope": "sequence", "fraction": "1/5", "keep": "top"}  # of the selector top-score


class Run(NamedTuple):
    """What `short_runs.py` left of one training."""

    steps: pd.DataFrame
    tokens: pd.DataFrame
    weights: dict[str, torch.Tensor]
    ranks: int
    stopped: str  # the error that ended it, or nothing
    resumed_at: list[int]  # steps
    engine: dict[str, Any] | None  # the settings of the vLLM that made the rollouts
    files: TrainFiles  # of what was recorded


def start(program: str, *arguments: str, ranks: int = 1) -> subprocess.CompletedProcess[str]:
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks)] if ranks > 1 else []
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parents[1])}
    command = [sys.executable, *launcher, str(HERE / program), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def train(folder: Path, checkpoint: Path, ranks: int = 1, **runs: dict[str, Any]) -> dict[str, Run]:
    """Short trainings in one process a rank, by name; a failure raises with what was printed."""
    specs = {}
    for name, run in runs.items():
        keywords = {"grpo": {}, "high-entropy": {"fraction": "1/5"}}.get(run["selector"], TOP)
        defaults = {
            "checkpoint": str(checkpoint),
            "seed": 0,
            "served": True,
            "keywords": keywords,
            "normaliser": "kept",
        }
        specs[name] = defaults | run | {"training": RECIPE | run.get("training", {})}
    (folder / "specs.json").write_text(json.dumps(specs))
    out = folder / f"{ranks}-ranks"
    done = start("short_runs.py", str(folder / "specs.json"), str(out), ranks=ranks)
    if done.returncode:
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-6000:])
    return {name: _read(out / name) for name in runs}


def _read(folder: Path) -> Run:
    frames = [pd.read_parquet(folder / f"{name}.parquet") for name in ("steps", "tokens")]
    facts = json.loads((folder / "facts.json").read_text())
    return Run(*frames, torch.load(folder / "weights.pt"), **facts, files=TrainFiles(folder))
