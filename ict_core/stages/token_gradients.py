"""How much of GRPO's gradient each rule's tokens carry, in an untrained model, on some prompts."""

import hashlib
from pathlib import Path

import pandas as pd
import torch

from ict_core.config import Study
from ict_core.selection import distinct_rules
from ict_core.shadow import Policy, Prompt, Prompts, group_advantages, in_parts, parts_folder
from ict_core.stages.generate import templated_problems
from ict_core.stages.read_tokens import prompts_to_read, reading
from ict_core.store import check_files, fingerprint, hash_weights, records, remember_source, remove


def run(study: Study, name: str, checkpoint: Path, problems: Path, read: tuple[Path, Path], out: Path) -> None:
    """Take every rule's gradients, on the tokens that it keeps of all prompts, into ``records.GRADIENT_SHARES``.

    ``read`` are the model's ``records.ROLLOUTS`` and TOKENS. The prompts are the first with right and wrong answers; on
    others no token has an advantage. Goes on where it was.
    """
    remember_source()
    check_files(checkpoint)
    rollouts, tokens = read
    answers = records.read_frame(rollouts, records.ROLLOUTS)
    rules = distinct_rules(study.methods)
    scored = Prompts.of(records.read_frame(tokens, records.TOKENS), rules, study.data.seed)
    places = dict(scored.each())
    prompts = prompts_to_read(study, answers, templated_problems(study, name, problems))
    mixed = [prompt for prompt in prompts if group_advantages(prompt.rewards, len(prompt.ids)).any()]
    chosen = mixed[: study.token_study.gradient_prompts]
    policy = Policy(checkpoint, reading(study))

    def take(prompt: Prompt) -> pd.DataFrame:
        rollouts = policy.rollouts(prompt.prompt, prompt.ids)
        mask = rollouts.completion_mask
        weights = [
            torch.zeros(mask.shape).masked_scatter(mask, torch.from_numpy(own[places[prompt.number]]).float())
            for own in scored.weights
        ]
        shares = policy.gradients(rollouts, group_advantages(prompt.rewards, len(prompt.ids)), weights)
        frame = pd.DataFrame(shares, columns=["norm_share", "cosine"])
        return frame.assign(rule=[r.name for r in rules], benchmark=prompt.benchmark, problem=prompt.problem)

    state = [study.stage_config("read_tokens"), hash_weights(checkpoint), records.content_hash(tokens)]
    weights = hashlib.sha256(scored.weights.tobytes()).hexdigest()
    folder = parts_folder(out, *state, weights, fingerprint("stages.token_gradients"))
    if chosen:
        gradients = in_parts(folder, chosen, take, records.GRADIENT_SHARES, "prompt")
    else:
        gradients = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in records.GRADIENT_SHARES.items()})
    records.write_frame(gradients, out, records.GRADIENT_SHARES)
    remove(folder.parent)
    print(f"{len(rules)} rules on {len(chosen)} of {len(mixed)} prompts with right and wrong answers")
