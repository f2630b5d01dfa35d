"""How a variant's learning rate is chosen by the rewards of trainings that serve nothing else."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from ict_core.errors import UserError
from ict_core.store import records

_LAST_PART = 4  # a quarter of the steps: over these the reward is a mean


def last_reward(log: pd.DataFrame) -> float:
    """The mean reward over the last quarter of the steps, rounded up, of a frame of ``records.LOG``."""
    steps = math.ceil(len(log) / _LAST_PART)
    return float(log.sort_values("step")["reward"].iloc[-steps:].mean())


def mean_rewards(rewards: Mapping[str, Mapping[str, float]]) -> dict[float, float]:
    """The mean over the seeds at each rate, from the reward of each rate and seed as ``rate.json`` holds them."""
    return {float(rate): sum(of_rate.values()) / len(of_rate) for rate, of_rate in rewards.items()}


def best_rate(means: dict[float, float], recipe: float) -> float:
    """The rate with the highest mean reward; of equal ones that nearest to the recipe's (as a ratio), then the lower.

    A rate whose rewards are not all numbers, as where a training diverged, is never chosen; UserError if that is every.
    """
    known = {rate: mean for rate, mean in means.items() if not math.isnan(mean)}
    if not known:
        raise UserError("tuning: at no rate has every training a reward; allowed: rates at which it trains")
    return max(known, key=lambda rate: (known[rate], -abs(math.log(rate / recipe)), -rate))


def tuning_frame(manifests: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """``records.TUNING``, from the manifests of the choices among these."""
    rows = [
        (job["model"], job["variant"], float(rate), int(seed), reward, float(rate) == job["learning_rate"])
        for job in manifests
        if job["stage"] == "tune"
        for rate, of_rate in job["rewards"].items()
        for seed, reward in of_rate.items()
    ]
    return pd.DataFrame(rows, columns=list(records.TUNING)).astype({"rate": "float64", "reward": "float64"})
