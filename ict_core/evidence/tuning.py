"""How a variant's learning rate is chosen, by the rewards of trainings that have no other purpose."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from ict_core.config.tuning import Trial, Tuning
from ict_core.errors import UserError
from ict_core.store import records

_ENOUGH = 9  # decimals by which means and distances between rates are compared
_LAST_PART = 4  # the reward is a mean over the last quarter of the steps
BASE_RATE = 0.0
"""The rate of the base model itself in a frame of ``records.TUNING``; its reward is that of the first step."""
LOWEST, HIGHEST, NO_GAIN = "the lowest tried", "the highest tried", "gains at no rate"


def last_reward(log: pd.DataFrame) -> float | None:
    """The mean reward over the last quarter of the steps, rounded up, of a frame of ``records.LOG``; None if NaN."""
    steps = math.ceil(len(log) / _LAST_PART)
    return _mean(log.sort_values("step")["reward"].iloc[-steps:])


def first_reward(log: pd.DataFrame) -> float | None:
    """The reward of the first step, in which the base model answers, of a frame of ``records.LOG``; None if NaN."""
    return _mean(log.sort_values("step")["reward"].iloc[:1])


def _mean(rewards: pd.Series) -> float | None:
    return None if rewards.isna().all() else float(rewards.mean())


def mean_rewards(rewards: Mapping[str, Mapping[str, float | None]]) -> dict[float, float]:
    """The mean reward over the seeds at each rate, from the reward of each rate and seed as in ``rate.json``.

    Only the rates that were tried with most seeds count: halving left the others behind. NaN if a reward is missing.
    """
    seeds = max(map(len, rewards.values()))
    tried = {float(rate): list(by_seed.values()) for rate, by_seed in rewards.items() if len(by_seed) == seeds}
    return {rate: sum(math.nan if one is None else one for one in of_rate) / seeds for rate, of_rate in tried.items()}


def best_rate(means: Mapping[float, float], recipe: float) -> float:
    """The rate with the highest mean reward; ties go to that nearest to the recipe's (as a ratio), then to the lower.

    A rate with a NaN reward, as after a diverged training, is never chosen. A UserError if that is so at all rates.
    """
    return _best_first(means, recipe)[0]


def _best_first(means: Mapping[float, float], recipe: float) -> list[float]:
    finite = {rate: mean for rate, mean in means.items() if not math.isnan(mean)}
    if not finite:
        raise UserError("tuning: at no rate has every training a reward; allowed: rates at which it trains")

    def place(rate: float) -> tuple[float, float, float]:
        """Rounded, as equal means and distances differ in their last bits."""
        return -round(finite[rate], _ENOUGH), round(abs(math.log(rate / recipe)), _ENOUGH), rate

    return sorted(finite, key=place)


def further(
    tuning: Tuning, rewards: Mapping[str, Mapping[str, float | None]], number: int, recipe: float
) -> list[Trial]:
    """The trainings, each a rate and a seed, that the round after `number` (from 1 on) asks for.

    First, with `extend`, these are two rates beyond the edge of the grid, if the best rate is at that edge. Then, with
    `halving`, they are the better half of the remaining rates (:meth:`Tuning.half`) on the next seeds. With both, the
    last are two rates on all seeds, if the best is at an edge of the grid beyond which nothing was tried.
    """
    means = mean_rewards(rewards)
    best = _best_first(means, recipe)
    if tuning.extend and number in (1, tuning.all_seeds_after):
        beyond = tuning.beyond()
        rates = {tuning.rates[0]: beyond[:2], tuning.rates[-1]: beyond[2:]}.get(best[0], ())
        seeds = tuning.first_seeds if number == 1 else tuning.seeds
        return [(rate, seed) for rate in rates if f"{rate:g}" not in rewards for seed in seeds]
    before, count = tuning.seed_counts[number - tuning.extend - 1 :][:2]
    half = best[: tuning.half(len(means))]
    return [(rate, seed) for rate in sorted(half) for seed in tuning.seeds[before:count]]


def round_of(
    tuning: Tuning, before: Mapping[str, Any] | None, logs: Iterable[tuple[Trial, pd.DataFrame]], recipe: float
) -> dict[str, Any]:
    """What a tuning round states: all rewards so far, and the trainings asked for next, or after the last round a rate.

    Args:
        before: what the round before stated; None for the first.
        logs: the trainings of this round, each with its frame of ``records.LOG``.
    """
    state = before or {"round": 0, "rewards": {}, "base_rewards": {}}
    number, rewards, base = state["round"] + 1, state["rewards"], state["base_rewards"]
    for (rate, seed), log in logs:
        rewards.setdefault(f"{rate:g}", {})[str(seed)] = last_reward(log)
        base.setdefault(str(seed), first_reward(log))  # at every rate the same model and random numbers
    stated = {"round": number, "rewards": rewards, "base_rewards": base}
    if number < tuning.rounds:
        return {**stated, "next": further(tuning, rewards, number, recipe)}
    return {**stated, "learning_rate": best_rate(mean_rewards(rewards), recipe)}


def check_rewards(logs: pd.DataFrame, choice: Mapping[str, Any], recipe: float) -> list[str]:
    """What in a stored choice does not follow from its variant's rewards of every step (``records.REWARDS``)."""
    wrong: list[str] = []
    first: dict[str, set[float | None]] = {}
    for rate, of_rate in choice["rewards"].items():
        for seed, reward in of_rate.items():
            log = logs[(logs["rate"] == float(rate)) & (logs["seed"] == int(seed))]
            first.setdefault(seed, set()).add(first_reward(log))
            if last_reward(log) != reward:
                wrong.append(f"the reward at {rate} with seed {seed}")
    for seed, rewards in first.items():  # several on a GPU, where the first steps of two rates may differ
        if choice["base_rewards"][seed] not in rewards:
            wrong.append(f"the base model's reward with seed {seed}")
    if best_rate(mean_rewards(choice["rewards"]), recipe) != choice["learning_rate"]:
        wrong.append("the rate that they choose")
    return wrong


def tried_in(choice: Mapping[str, Any]) -> list[Trial]:
    """The trainings, each a rate and a seed, by which a choice in ``rate.json`` was made."""
    return [(float(rate), int(seed)) for rate, of_rate in choice["rewards"].items() for seed in of_rate]


def tuning_frame(manifests: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """``records.TUNING``, from those of these manifests that are of choices of a rate."""
    rows = [
        (job["model"], job["variant"], float(rate), int(seed), reward, float(rate) == job["learning_rate"])
        for job in manifests
        if job["stage"] == "tune"
        for rate, of_rate in {BASE_RATE: job["base_rewards"], **job["rewards"]}.items()
        for seed, reward in of_rate.items()
    ]
    return pd.DataFrame(rows, columns=list(records.TUNING)).astype({"rate": "float64", "reward": "float64"})


def remarks(tuning: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Remarks on the rate of each (model, variant) in a frame of ``records.TUNING``; empty if there is nothing to say.

    One remark is that the rate is at an edge of the rates tried, so that one beyond might suit the variant better. The
    other is that the variant gains at no rate: nowhere is the mean over seeds of the reward less the base model's above
    its standard error (above 0 with one seed).
    """
    texts = {}
    for arm, rows in tuning.groupby(["model", "variant"], sort=False):
        rewards = rows.pivot(index="seed", columns="rate", values="reward")
        tried = rewards.drop(columns=BASE_RATE, errors="ignore")
        chosen = rows.loc[rows["chosen"], "rate"].iloc[0]
        words = [{tried.columns.min(): LOWEST, tried.columns.max(): HIGHEST}.get(chosen)]
        if BASE_RATE in rewards:
            own = rows[rows["rate"] != BASE_RATE]  # a rate's seeds are those that it was tried on
            gains = (own["reward"] - own["seed"].map(rewards[BASE_RATE])).groupby(own["rate"])
            if not (gains.mean(skipna=False) > gains.sem().fillna(0)).any():
                words.append(NO_GAIN)
        texts[str(arm[0]), str(arm[1])] = "; ".join(filter(None, words))
    return texts
