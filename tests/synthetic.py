"""Scores and training logs drawn from a known hierarchy, at the size of a real small study."""

import numpy as np
import pandas as pd

from ict_core.seeding import generator
from ict_core.store.records import SCORES, STUDY_LOG

VARIANTS = ["grpo", "entropy-20", "stapo", "ict-5", "ict-10", "ict-20", "ict-30", "random-10"]
KEPT = {"entropy-20": 20, "ict-5": 5, "ict-10": 10, "ict-20": 20, "ict-30": 30, "random-10": 10}  # percent
BASELINES = ["grpo", "entropy-20", "stapo"]
MODELS = ["tiny", "small"]
BENCHMARKS = {
    "mini-word": (60, 0.2),
    "mini-symbolic": (60, 0.0),
    "mini-stem": (60, -0.4),
    "mini-science": (60, -0.7),
    "mini-aime23": (30, -2.6),
    "mini-aime24": (30, -2.4),
    "mini-aime25": (30, -2.8),
}
GAINS = dict(zip(["base", *VARIANTS], [0.0, 0.9, 0.7, 0.85, 0.5, 0.95, 1.0, 0.9, 0.4], strict=True))  # in logits


def _cells(models, variants, seeds, base=True):
    for model in models:
        for variant in [*(["base"] if base else []), *variants]:
            for seed in [0] if variant == "base" else seeds:
                yield model, variant, seed


def scores(models=MODELS, variants=VARIANTS, seeds=(1, 2, 3), n=8):
    """A frame of records.SCORES: logit-normal problems, a logit shift a variant, a random effect a run."""
    rows = []
    for model, variant, seed in _cells(models, variants, seeds):
        run = generator(seed, "run", model, variant)
        shift = GAINS[variant] + run.normal(0, 0.1) + 0.6 * MODELS.index(model) - 0.8
        for benchmark, (size, ease) in BENCHMARKS.items():
            difficulty = generator(0, "problems", benchmark).normal(0, 1.3, size)
            correct = run.binomial(n, 1 / (1 + np.exp(-(ease + shift + difficulty))))
            no_answer = run.binomial(n - correct, 0.1)
            truncated = run.binomial(n - correct, 0.05)
            for i in range(size):
                c, a = int(correct[i]), int(no_answer[i])
                counts = {"correct": c, "wrong": n - c - a, "no_answer": a, "timeout": 0, "memory": 0, "error": 0}
                row = {"model": model, "variant": variant, "seed": seed, "benchmark": benchmark}
                row |= {"problem": f"{benchmark}-{i}", "sampled": n, "n": n, **counts}
                rows.append({**row, "truncated": int(truncated[i]), "tokens": 50 * n})
    return pd.DataFrame(rows)[list(SCORES)]


def log(models=MODELS, variants=VARIANTS, seeds=(1, 2, 3), steps=40):
    """A frame of records.STUDY_LOG: rewards that rise and entropies that fall, with noise; h1_kept is NaN at times."""
    frames = []
    for model, variant, seed in _cells(models, variants, seeds, base=False):
        rng = generator(seed, "log", model, variant)
        step = np.arange(steps)
        rise = 1 - np.exp(-step / 15)
        reward = 0.15 + 0.1 * MODELS.index(model) + 0.35 * GAINS[variant] * rise + rng.normal(0, 0.03, steps)
        h1 = 0.55 - 0.3 * GAINS[variant] * rise + rng.normal(0, 0.01, steps)
        frame = pd.DataFrame({"model": model, "variant": variant, "seed": seed, "step": step, "selecting": step >= 5})
        frame = frame.assign(**dict.fromkeys([c for c, kind in STUDY_LOG.items() if kind == "float"], 0.1))
        frame = frame.assign(reward=np.clip(reward, 0, 1), h1=h1, h2=0.7 * h1, tokens=6400)
        frames.append(frame.assign(h1_kept=np.where(rng.random(steps) < 0.1, np.nan, h1)))
    return pd.concat(frames, ignore_index=True)[list(STUDY_LOG)]
