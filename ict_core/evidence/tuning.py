"""How a variant's learning rate is chosen by the rewards of trainings that serve nothing else."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from ict_core.config.tuning import Trial, Tuning
from ict_core.errors import UserError
from ict_core.store import records

_LAST_PART = 4  # a quarter of the steps: over these the reward is a mean
BASE_RATE = 0.0
"""In a frame of ``records.TUNING`` the rate of the base model itself, whose reward is that of the first step."""
LOWEST, HIGHEST, NO_GAIN = "the lowest tried", "the highest tried", "gains at no rate"


def last_reward(log: pd.DataFrame) -> float:
    """The mean reward over the last quarter of the steps, rounded up, of a frame of ``records.LOG``."""
    steps = math.ceil(len(log) / _LAST_PART)
    return float(log.sort_values("step")["reward"].iloc[-steps:].mean())


def first_reward(log: pd.DataFrame) -> float:
    """The reward of the first step, in which the base model answers, of a frame of ``records.LOG``."""
    return float(log.sort_values("step")["reward"].iloc[0])


def mean_rewards(rewards: Mapping[str, Mapping[str, float]]) -> dict[float, float]:
    """The mean over the seeds at each rate, from the reward of each rate and seed as ``rate.json`` holds them.

    Only of the rates tried with most seeds: with halving the others were left behind.
    """
    most = max(map(len, rewards.values()))
    return {float(rate): sum(of.values()) / most for rate, of in rewards.items() if len(of) == most}


def best_rate(means: Mapping[float, float], recipe: float) -> float:
    """The rate with the highest mean reward; of equal ones that nearest to the recipe's (as a ratio), then the lower.

    A rate whose rewards are not all numbers, as where a training diverged, is never chosen; UserError if that is every.
    """
    return _best_first(means, recipe)[0]


def _best_first(means: Mapping[float, float], recipe: float) -> list[float]:
    finite = {rate: mean for rate, mean in means.items() if not math.isnan(mean)}
    if not finite:
        raise UserError("tuning: at no rate has every training a reward; allowed: rates at which it trains")
    return sorted(finite, key=lambda rate: (-finite[rate], abs(math.log(rate / recipe)), rate))


def further(tuning: Tuning, rewards: Mapping[str, Mapping[str, float]], number: int, recipe: float) -> list[Trial]:
    """The trainings, each a rate and a seed, that the next round asks for after the round `number`, from 1 on.

    First, with `extend`, two rates beyond the edge of the grid if the best lies there; then, with `halving`, the better
    half of the rates that are left, rounded up, on the next seeds, and at last, if the best lies at an edge of the grid
    beyond which nothing was tried, two rates beyond it on all seeds.
    """
    means = mean_rewards(rewards)
    best = _best_first(means, recipe)
    if tuning.extend and number in (1, tuning.all_seeds_after):
        beyond = tuning.beyond()
        rates = {tuning.rates[0]: beyond[:2], tuning.rates[-1]: beyond[2:]}.get(best[0], ())
        seeds = tuning.first_seeds if number == 1 else tuning.seeds
        return [(rate, seed) for rate in rates if f"{rate:g}" not in rewards for seed in seeds]
    before, count = tuning.seed_counts[number - tuning.extend - 1 :][:2]
    half = best[: math.ceil(len(means) / 2)]
    return [(rate, seed) for rate in sorted(half) for seed in tuning.seeds[before:count]]


def check_rewards(logs: pd.DataFrame, choice: Mapping[str, Any], recipe: float) -> list[str]:
    """What of a stored choice does not follow from the rewards of every step, ``records.REWARDS`` of its variant."""
    wrong = []
    for rate, of_rate in choice["rewards"].items():
        for seed, reward in of_rate.items():
            log = logs[(logs["rate"] == float(rate)) & (logs["seed"] == int(seed))]
            if last_reward(log) != reward or first_reward(log) != choice["base_rewards"][seed]:
                wrong.append(f"the reward at {rate} with seed {seed}")
    if best_rate(mean_rewards(choice["rewards"]), recipe) != choice["learning_rate"]:
        wrong.append("the rate that they choose")
    return wrong


def tried_in(choice: Mapping[str, Any]) -> list[Trial]:
    """The trainings, each a rate and a seed, by which a choice as ``rate.json`` holds it was made."""
    return [(float(rate), int(seed)) for rate, of_rate in choice["rewards"].items() for seed in of_rate]


def tuning_frame(manifests: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """``records.TUNING``, from the manifests of the choices among these."""
    rows = [
        (job["model"], job["variant"], float(rate), int(seed), reward, float(rate) == job["learning_rate"])
        for job in manifests
        if job["stage"] == "tune"
        for rate, of_rate in {BASE_RATE: job["base_rewards"], **job["rewards"]}.items()
        for seed, reward in of_rate.items()
    ]
    return pd.DataFrame(rows, columns=list(records.TUNING)).astype({"rate": "float64", "reward": "float64"})


def remarks(tuning: pd.DataFrame) -> dict[tuple[str, str], str]:
    """What must be said of the rate of each (model, variant) of a frame of ``records.TUNING``; empty if nothing.

    Whether it lies at an edge of the rates tried, so that one beyond might suit the variant better; and whether the
    variant gains at no rate: at none is the mean over the seeds of the reward less the base model's above its standard
    error (above 0 with one seed).
    """
    said = {}
    for arm, rows in tuning.groupby(["model", "variant"], sort=False):
        rewards = rows.pivot(index="seed", columns="rate", values="reward")
        tried = rewards.drop(columns=BASE_RATE, errors="ignore")
        chosen = rows.loc[rows["chosen"], "rate"].iloc[0]
        words = [{tried.columns.min(): LOWEST, tried.columns.max(): HIGHEST}.get(chosen)]
        if BASE_RATE in rewards:
            gain = tried.sub(rewards[BASE_RATE], axis="index")
            if not (gain.mean(skipna=False) > gain.sem(skipna=False).fillna(0)).any():
                words.append(NO_GAIN)
        said[str(arm[0]), str(arm[1])] = "; ".join(filter(None, words))
    return said
