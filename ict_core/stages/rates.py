"""The learning rates that a study chose, stored for other studies (`rates_of`)."""

from ict_core.errors import UserError
from ict_core.jobs.command import MaybeCells, Results, StudyFile, command, study_to_run

_KEPT = ("learning_rate", "rewards", "base_rewards")


@command("rates", writes="results")
def run(study: StudyFile, results: Results, cells: MaybeCells = None) -> None:
    """Gather the learning rates that a study chose, for other studies (`rates_of`).

    ``rates.json`` contains only what a rerun would give again, as studies that take its rates record its hash.
    """
    loaded = study_to_run(study)
    import pandas as pd

    from ict_core.config.study import trials
    from ict_core.config.tuning import rate_of
    from ict_core.evidence.cells import check_again, check_inputs, counted
    from ict_core.evidence.collect import check_chain, merge_manifests
    from ict_core.evidence.tuning import check_rewards, tried_in
    from ict_core.store import records
    from ict_core.store.layout import StudyFiles
    from ict_core.store.manifests import read_manifest, write_manifest

    if loaded.tuning is None:
        raise UserError(f"{loaded.name}: tuning: missing; allowed: rates and seeds, else there is no rate to store")
    files, stored = StudyFiles(results), counted(loaded, cells)
    choices = {arm: read_manifest(files.chosen_rate(*arm)) for arm in loaded.tuned_arms()}
    tried = [cell for arm, choice in choices.items() for cell in trials(*arm, tried_in(choice))]
    made = [*loaded.base_cells(tried), *tried]
    again, apart = ({c: folder for c, folder in cells.items() if c in made} for cells in (stored.again, stored.cells))
    check_again(loaded, files, again)
    check_inputs(loaded, files, apart)
    manifests, logs = [], []
    for cell in made:
        outcome = stored.outcome(cell, files)
        manifests.append(cell._asdict() | outcome.job("made"))
        variant, rate = rate_of(cell.variant)
        if rate is not None:
            log = outcome.frame("log")[["step", "reward"]]
            logs.append(log.assign(model=cell.model, variant=variant, rate=rate, seed=cell.seed))
    check_chain(manifests)
    rewards = pd.concat(logs)[list(records.REWARDS)]
    for (model, variant), choice in choices.items():
        manifests.append({"model": model, "variant": variant, "seed": min(loaded.tuning.seeds)} | choice)
        arm_rewards = rewards[(rewards["model"] == model) & (rewards["variant"] == variant)]
        if wrong := check_rewards(arm_rewards, choice, loaded.training.learning_rate):
            raise UserError(
                f"{files.chosen_rate(model, variant)}: not by its trainings: {wrong[0]}; delete it and rerun"
            )
    arms = {
        "/".join(arm): {"config": loaded.tuned_config(*arm), **{key: choice[key] for key in _KEPT}}
        for arm, choice in choices.items()
    }
    recipe = {"learning_rate": loaded.training.learning_rate, "seeds_per_base": loaded.seeds_per_base}
    out = files.rate_study
    records.write_frame(rewards, out.rewards, records.REWARDS)
    write_manifest(out.manifest, merge_manifests(manifests))
    write_manifest(out.rates, {"study": loaded.name, "tuning": loaded.tuning.dump(), **recipe, "arms": arms})
