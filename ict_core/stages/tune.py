"""The choice of a variant's learning rate."""

import time
from pathlib import Path
from typing import Annotated

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
    from ict_core.evidence.tuning import mean_rewards, round_of
    from ict_core.store.layout import StudyFiles
    from ict_core.store.manifests import cost, manifest, read_manifest, remember_source, write_manifest

    started, tuning = time.perf_counter(), loaded.tuning
    remember_source()
    if tuning is None:
        raise UserError(f"{loaded.name}: tuning: missing; allowed: rates and seeds, else no variant is tuned")
    state = read_manifest(before) if before else None
    stored, files = counted(loaded, cells), StudyFiles(results)
    tried = [(rate, seed) for rate, seed in (state["next"] if state else tuning.first())]
    logs = [stored.outcome(cell, files).frame("log") for cell in trials(model, variant, tried)]
    facts = round_of(tuning, state, zip(tried, logs, strict=True), loaded.training.learning_rate)
    write_manifest(out, manifest(loaded.stage_config("tune")) | {"stage": "tune", **facts, **cost(started, 0)})
    done = f"chosen: {facts['learning_rate']:g}" if "next" not in facts else f"then trained: {len(facts['next'])} more"
    listed = ", ".join(f"{rate:g}: {mean:.4f}" for rate, mean in mean_rewards(facts["rewards"]).items())
    print(f"{model}/{variant}: mean reward over the last quarter of the steps {listed}; {done}")
