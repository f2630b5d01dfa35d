"""The training problems that a base model answers right at times: those from which GRPO has something to learn."""

from pathlib import Path

import pandas as pd

from ict_core.config import Cell, Study
from ict_core.errors import UserError
from ict_core.evaluation import Sampling, stop_token_ids
from ict_core.grading import grade_completions
from ict_core.problems import templated
from ict_core.seeding import generator
from ict_core.stages.generate import Asked, answers
from ict_core.store import check_files, records, remember_source


def run(study: Study, base: Cell, checkpoint: Path, problems: Path, cache: Path, out: Path) -> None:
    """Write the problems, ``records.PROBLEMS``, of which the base model answers one sample right and one not.

    UserError: `data.within_reach` is missing, or there are fewer such problems than a step has prompts.
    """
    rule = study.data.within_reach
    if rule is None:
        raise UserError(f"{study.name}: data.within_reach: missing; the training problems are all of them")
    remember_source()
    check_files(checkpoint)
    whole = records.read_frame(problems, records.PROBLEMS)
    if rule.problems is not None and rule.problems < len(whole):
        drawn = generator(study.data.seed, "within reach").choice(len(whole), rule.problems, replace=False)
        whole = whole.iloc[sorted(drawn)].reset_index(drop=True)
    training = study.training
    sampling = Sampling(training.temperature, 1.0, training.max_new_tokens, stop_token_ids(checkpoint))
    asked = whole.assign(prompt=templated(study.models[base.model].prompt, whole["prompt"]))
    samples = dict.fromkeys(whole["benchmark"].unique(), rule.samples)
    completions, facts = answers(study, base, checkpoint, Asked(asked, samples, sampling), cache)
    own = completions[list(records.COMPLETIONS)]
    grades = grade_completions(own, whole, workers=study.evaluation.threads, **study.grading.dump())
    right = (grades["status"] == "correct").groupby([grades["benchmark"], grades["problem"]]).mean()
    mixed = right[(right > 0) & (right < 1)]
    keys = pd.MultiIndex.from_frame(whole[["benchmark", "problem"]])
    chosen = whole[keys.isin(mixed.index)].reset_index(drop=True)
    if len(chosen) < training.prompts_per_step:
        raise UserError(
            f"{study.name}: data.within_reach: {len(chosen)} of {len(whole)} problems are answered right in some of "
            f"{rule.samples} samples and not in all; allowed: at least {training.prompts_per_step}, the prompts of a "
            "step: ask more problems, or take more samples"
        )
    records.write_frame(chosen, out, records.PROBLEMS)
    print(
        f"{facts['engine']} {facts['engine_version']}: {len(chosen)} of {len(whole)} problems within reach, by "
        f"{len(own)} answers of {own['tokens'].sum()} tokens, {right.mean():.1%} of them right"
    )
