"""The choice of a variant's learning rate."""

import time
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from ict_core.errors import UserError
from ict_core.jobs.command import Given, MaybeCells, Name, Results, StudyFile, command, study_to_run


@command("tune")
def run(
    study: StudyFile,
    model: Name,
    variant: Name,
    results: Results,
    out: Given,
    cells: MaybeCells = None,
    before: Annotated[Path | None, Option(help="what the round before wrote (default: this is the first)")] = None,
) -> None:
    """Choose the learning rate of a variant.

    A round writes under `next` the trainings that the next round asks for; the last round writes the rate.
    """
    loaded = study_to_run(study)
    from ict_core.config.study import trials
    from ict_core.evidence.cells import counted
    from ict_core.evidence.tuning import best_rate, first_reward, further, last_reward, mean_rewards
    from ict_core.store.layout import StudyFiles
    from ict_core.store.manifests import cost, manifest, read_manifest, remember_source, write_manifest

    started, tuning, recipe = time.perf_counter(), loaded.tuning, loaded.training.learning_rate
    remember_source()
    if tuning is None:
        raise UserError(f"{loaded.name}: tuning: missing; allowed: rates and seeds, else no variant is tuned")
    state: dict[str, Any] = {"round": 0, "next": tuning.first(), "rewards": {}, "base_rewards": {}}
    state = read_manifest(before) if before else state
    number, rewards, base = state["round"] + 1, state["rewards"], state["base_rewards"]
    stored, files = counted(loaded, cells), StudyFiles(results)
    tried = [(rate, seed) for rate, seed in state["next"]]
    for (rate, seed), cell in zip(tried, trials(model, variant, tried), strict=True):
        log = stored.outcome(cell, files).frame("log")
        rewards.setdefault(f"{rate:g}", {})[str(seed)] = last_reward(log)
        base.setdefault(str(seed), first_reward(log))  # the same at every rate: the same model and random numbers
    facts = {"stage": "tune", "round": number, "rewards": rewards, "base_rewards": base, **cost(started, 0)}
    means = mean_rewards(rewards)
    if number < tuning.rounds:
        facts["next"] = further(tuning, rewards, number, recipe)
        done = f"then trained: {len(facts['next'])} more"
    else:
        facts["learning_rate"] = best_rate(means, recipe)
        done = f"chosen: {facts['learning_rate']:g}"
    write_manifest(out, manifest(loaded.stage_config("tune")) | facts)
    listed = ", ".join(f"{rate:g}: {mean:.4f}" for rate, mean in means.items())
    print(f"{model}/{variant}: mean reward over the last quarter of the steps {listed}; {done}")
