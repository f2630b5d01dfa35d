"""The choice of a variant's learning rate."""

import time
from pathlib import Path

from ict_core.config import Study, rate_of
from ict_core.errors import UserError
from ict_core.evidence import LocalOutcome, StoredOutcome, best_rate, counted, first_reward, last_reward, mean_rewards
from ict_core.store import StudyFiles, cost, manifest, remember_source, write_manifest


def run(study: Study, model: str, variant: str, results: Path, cells: Path | None, out: Path) -> None:
    """Choose the rate of a variant by the trainings in the folder `results`, and write it with their rewards.

    Of those in the folder `cells` that count, the stored logs are read.
    """
    started = time.perf_counter()
    remember_source()
    if study.tuning is None:
        raise UserError(f"{study.name}: tuning: missing; allowed: rates and seeds, else no variant is tuned")
    stored = counted(study, cells).cells if cells else {}
    rewards: dict[str, dict[str, float]] = {}
    base: dict[str, float] = {}
    for cell in study.tuning_cells(model, variant):
        outcome = StoredOutcome(stored[cell]) if cell in stored else LocalOutcome(StudyFiles(results), cell)
        log, rate = outcome.frame("log"), rate_of(cell.variant)[1]
        rewards.setdefault(f"{rate:g}", {})[str(cell.seed)] = last_reward(log)
        base.setdefault(str(cell.seed), first_reward(log))  # the same at every rate: the same model and random numbers
    means = mean_rewards(rewards)
    chosen = best_rate(means, study.training.learning_rate)
    facts = {"stage": "tune", "rewards": rewards, "base_rewards": base, "learning_rate": chosen, **cost(started, 0)}
    write_manifest(out, manifest(study.stage_config("tune")) | facts)
    shown = ", ".join(f"{rate:g}: {mean:.4f}" for rate, mean in means.items())
    print(f"{model}/{variant}: mean reward over the last quarter of the steps {shown}; chosen: {chosen:g}")
