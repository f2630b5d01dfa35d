"""The choice of a variant's learning rate."""

import time
from pathlib import Path
from typing import Any

from ict_core.config import Study, Trial, trials
from ict_core.errors import UserError
from ict_core.evidence import (
    LocalOutcome,
    StoredOutcome,
    best_rate,
    counted,
    first_reward,
    further,
    last_reward,
    mean_rewards,
)
from ict_core.store import StudyFiles, cost, manifest, read_manifest, remember_source, write_manifest


def run(
    study: Study, model: str, variant: str, results: Path, cells: Path | None, before: Path | None, out: Path
) -> None:
    """Choose the rate of a variant by the trainings in the folder `results`, and write it with their rewards.

    Of those in the folder `cells` that count, the stored logs are read. Where the choice takes several rounds, `before`
    is what the round before wrote; what it writes itself says under `next` which trainings the next round asks for, and
    that of the last round has the rate.
    """
    started = time.perf_counter()
    remember_source()
    if study.tuning is None:
        raise UserError(f"{study.name}: tuning: missing; allowed: rates and seeds, else no variant is tuned")
    known: dict[str, Any] = {"round": 0, "next": study.tuning.first(), "rewards": {}, "base_rewards": {}}
    known = read_manifest(before) if before else known
    number, rewards, base = known["round"] + 1, known["rewards"], known["base_rewards"]
    stored = counted(study, cells).cells if cells else {}
    tried: list[Trial] = [(rate, seed) for rate, seed in known["next"]]
    for (rate, seed), cell in zip(tried, trials(model, variant, tried), strict=True):
        outcome = StoredOutcome(stored[cell]) if cell in stored else LocalOutcome(StudyFiles(results), cell)
        log = outcome.frame("log")
        rewards.setdefault(f"{rate:g}", {})[str(seed)] = last_reward(log)
        base.setdefault(str(seed), first_reward(log))  # the same at every rate: the same model and random numbers
    recipe = study.training.learning_rate
    facts = {"stage": "tune", "round": number, "rewards": rewards, "base_rewards": base, **cost(started, 0)}
    means = mean_rewards(rewards)
    shown = ", ".join(f"{rate:g}: {mean:.4f}" for rate, mean in means.items())
    if number < study.tuning.rounds:
        facts["next"] = further(study.tuning, rewards, number, recipe)
        done = f"then trained: {len(facts['next'])} more"
    else:
        facts["learning_rate"] = best_rate(means, recipe)
        done = f"chosen: {facts['learning_rate']:g}"
    write_manifest(out, manifest(study.stage_config("tune")) | facts)
    print(f"{model}/{variant}: mean reward over the last quarter of the steps {shown}; {done}")
