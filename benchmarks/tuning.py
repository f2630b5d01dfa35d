"""How often cheaper tuning chooses another learning rate than full tuning, from the stored rewards of a full tuning.

    python benchmarks/tuning.py                     # of the study mini-full-rates, once its rates are stored
    python benchmarks/tuning.py --rates FOLDER      # of another, such as results/mini-full-rates/rates
    python benchmarks/tuning.py --quick             # of rewards that are made up

Each row is a method. It has the rate that all trainings choose, and the rates that the first half and the first quarter
of their steps choose (`steps`). It counts how many of all halves of the seeds choose another rate, and how many of all
orders of the seeds do so by `halving`: of all rates, and of the highest four alone, with one rate left for the last
seeds and with two `finalists`. The cost of a choice is how much lower its reward is in the full tuning (of the same
rates), in points, on average.
"""

import itertools
import math
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import report

from ict_core.config.tuning import Tuning
from ict_core.evidence.tuning import best_rate, further, last_reward, mean_rewards
from ict_core.seeding import generator
from ict_core.store import records
from ict_core.store.layout import StudyFiles
from ict_core.store.manifests import read_manifest

Rewards = dict[str, dict[str, float | None]]  # rate -> seed -> reward, as in rate.json


def rewards_of(logs: pd.DataFrame, part: float = 1.0) -> Rewards:
    """Each training's reward after the first `part` of its steps, from ``records.REWARDS`` of one method."""
    rewards: Rewards = {}
    for (rate, seed), log in logs.groupby(["rate", "seed"]):
        first = log.nsmallest(math.ceil(part * len(log)), "step")
        rewards.setdefault(f"{rate:g}", {})[str(seed)] = last_reward(first)
    return rewards


def on(rewards: Rewards, seeds: Iterable[int]) -> Rewards:
    """The rewards of some seeds."""
    return {rate: {str(seed): by_seed[str(seed)] for seed in seeds} for rate, by_seed in rewards.items()}


def halving(rewards: Rewards, seeds: tuple[int, ...], recipe: float, finalists: int | None = None) -> float:
    """The rate that successive halving chooses if it takes the seeds in this order."""
    tuning = Tuning(rates=tuple(sorted(map(float, rewards))), seeds=seeds, halving=True, finalists=finalists)
    tried = on(rewards, tuning.first_seeds)
    for number in range(1, tuning.rounds):
        for rate, seed in further(tuning, tried, number, recipe):
            tried[f"{rate:g}"][str(seed)] = rewards[f"{rate:g}"][str(seed)]
    return best_rate(mean_rewards(tried), recipe)


def row(name: str, logs: pd.DataFrame, recipe: float) -> tuple[dict[str, str], dict[str, tuple[int, int]]]:
    """A method's row, and for each cheaper way the number of choices that are another rate, and of all choices."""
    full = rewards_of(logs)
    four = {rate: full[rate] for rate in sorted(full, key=float)[-4:]}
    means = mean_rewards(full)
    best = best_rate(means, recipe)
    seeds = tuple(sorted(int(seed) for seed in logs["seed"].unique()))
    halves = list(itertools.combinations(seeds, math.ceil(len(seeds) / 2)))
    orders = list(itertools.permutations(seeds))
    best_of_four = best_rate(mean_rewards(four), recipe)
    ways = {  # the rate that all trainings choose, and the choices of the cheaper way
        "half of the steps": (best, [best_rate(mean_rewards(rewards_of(logs, 1 / 2)), recipe)]),
        "a quarter of the steps": (best, [best_rate(mean_rewards(rewards_of(logs, 1 / 4)), recipe)]),
        "half of the seeds": (best, [best_rate(mean_rewards(on(full, half)), recipe) for half in halves]),
        "halving": (best, [halving(full, order, recipe) for order in orders]),
        "of four rates": (best_of_four, [halving(four, order, recipe) for order in orders]),
        "of four, two finalists": (best_of_four, [halving(four, order, recipe, 2) for order in orders]),
    }
    line, counts = {"method": name, "all trainings": f"{best:g}"}, {}
    for way, (right, chosen) in ways.items():
        lost = 100 * sum(means[right] - means[rate] for rate in chosen) / len(chosen)
        other = sum(rate != right for rate in chosen)
        text = f"{chosen[0]:g}" if len(chosen) == 1 else f"another in {other} of {len(chosen)}"
        line[way], counts[way] = f"{text}, costs {lost:.1f}", (other, len(chosen))
    return line, counts


def made_up() -> pd.DataFrame:
    """Rewards of two methods with different best rates, with noise between trainings."""
    rows = []
    for variant, best in (("one", 1e-4), ("two", 3e-4)):
        for rate, seed in itertools.product((3e-5, 1e-4, 3e-4, 9e-4), range(4)):
            draw = generator(seed, "made-up rewards", variant, f"{rate:g}")
            end = 0.5 - 0.1 * abs(math.log(rate / best)) + draw.normal(0, 0.15)
            rows += [("m", variant, rate, seed, step, 0.3 + (end - 0.3) * step / 31) for step in range(32)]
    return pd.DataFrame(rows, columns=list(records.REWARDS))


def main() -> None:
    parser = report.parser(__doc__)
    parser.add_argument("--rates", type=Path, default=report.REPOSITORY / "results/reference/mini-full-rates")
    options = report.parse(parser, rates=None)
    recipe = 3e-4
    if options.rates is None:
        logs = made_up()
    else:
        files = StudyFiles(options.rates)
        if not files.rewards.is_file():
            parser.error(f"--rates {options.rates}: no {files.rewards.name} there; run the rates of mini-full-rates")
        logs, recipe = records.read_frame(files.rewards, records.REWARDS), read_manifest(files.rates)["learning_rate"]
        trained = logs.groupby(["model", "variant", "rate"])["seed"].nunique()
        if trained.nunique() > 1:
            parser.error(
                f"--rates {options.rates}: {files.rewards.name}: not every rate was trained on every seed; "
                "allowed: the rates of a study without halving, such as mini-full-rates"
            )
    lines, counts = [], []
    for (model, variant), arm_logs in logs.groupby(["model", "variant"], sort=False):
        line, count = row(f"{model}/{variant}", arm_logs, recipe)
        lines.append(line)
        counts.append(count)
    total = {"method": "another rate, of all choices", "all trainings": "0"}
    for way in counts[0]:
        other, choices = (sum(count[way][place] for count in counts) for place in (0, 1))
        total[way] = f"{other} of {choices}"
    report.append([*lines, total], quick=options.quick)


if __name__ == "__main__":
    main()
