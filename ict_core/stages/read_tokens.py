"""Every response token of an untrained model's answers: what the policy was there, and all scores."""

from pathlib import Path

import pandas as pd

from ict_core.config import Study
from ict_core.errors import UserError
from ict_core.shadow import Policy, Prompt, Reading, group_advantages, in_parts, parts_folder, prompts_of
from ict_core.stages.generate import templated_problems
from ict_core.store import check_files, fingerprint, hash_weights, records, remember_source, remove


def reading(study: Study) -> Reading:
    """How a study's rollouts are read."""
    return Reading(study.evaluation.temperature, study.training.passes == "packed", study.evaluation.threads)


def prompts_to_read(study: Study, answers: pd.DataFrame, problems: pd.DataFrame) -> list[Prompt]:
    """All prompts of `records.ROLLOUTS`, or those with an advantage, as the study says.

    Raises:
        UserError: None has one.
    """
    prompts = prompts_of(answers, problems)
    if not study.token_study.with_advantage:
        return prompts
    mixed = [prompt for prompt in prompts if group_advantages(prompt.rewards, len(prompt.ids)).any()]
    if not mixed:
        raise UserError(
            f"token_study: with_advantage: none of the {len(prompts)} prompts has right and wrong answers; give the"
            " study more or easier problems, more samples a problem, or false here"
        )
    return mixed


def run(study: Study, name: str, checkpoint: Path, problems: Path, rollouts: Path, out: Path) -> None:
    """Read ``records.ROLLOUTS`` of a base model into ``records.TOKENS``, a group a prompt; goes on where it was."""
    remember_source()
    check_files(checkpoint)
    answers = records.read_frame(rollouts, records.ROLLOUTS)
    prompts = prompts_to_read(study, answers, templated_problems(study, name, problems))
    policy = Policy(checkpoint, reading(study))

    def read(prompt: Prompt) -> pd.DataFrame:
        advantages = group_advantages(prompt.rewards, len(prompt.ids))
        tokens = policy.tokens(policy.rollouts(prompt.prompt, prompt.ids), prompt.rewards, advantages)
        return tokens.assign(group=prompt.number)

    state = [study.stage_config("read_tokens"), hash_weights(checkpoint), records.content_hash(rollouts)]
    folder = parts_folder(out, *state, fingerprint("stages.read_tokens"))
    tokens = in_parts(folder, prompts, read, records.TOKENS, "prompt")
    records.write_frame(tokens, out, records.TOKENS)
    remove(folder.parent)
    print(f"{len(tokens)} tokens of {len(prompts)} prompts")
