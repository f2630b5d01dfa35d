"""How much of GRPO's gradient each rule's tokens carry, in an untrained model, on some prompts."""

import hashlib
from typing import TYPE_CHECKING

from ict_core.jobs.command import Given, Name, StudyFile, command, study_of_model

if TYPE_CHECKING:
    import pandas as pd

    from ict_core.shadow.policy import Prompt


@command("token-gradients")
def run(
    study: StudyFile, model: Name, checkpoint: Given, problems: Given, rollouts: Given, tokens: Given, out: Given
) -> None:
    """Take the gradient that each rule's tokens carry, on some prompts of an untrained model.

    The prompts are the first ones with right and wrong answers. Continues where it stopped.
    """
    loaded = study_of_model(study, model)
    import pandas as pd
    import torch

    from ict_core.selection.base import distinct_rules
    from ict_core.shadow.policy import in_parts, opened, parts_folder
    from ict_core.shadow.prompts import Prompts
    from ict_core.store import records
    from ict_core.store.code import fingerprint
    from ict_core.store.files import remove

    policy, prompts = opened(loaded, model, checkpoint, rollouts, problems)
    rules = distinct_rules(loaded.methods)
    scored = Prompts.of(records.read_frame(tokens, records.TOKENS), rules, loaded.data.seed)
    places = dict(scored.each())
    mixed = [prompt for prompt in prompts if prompt.advantages.any()]
    chosen = mixed[: loaded.token_study.gradient_prompts]

    def take(prompt: "Prompt") -> "pd.DataFrame":
        mask = prompt.rollouts.completion_mask
        weights = [
            torch.zeros(mask.shape).masked_scatter(mask, torch.from_numpy(rule_weights[places[prompt.number]]).float())
            for rule_weights in scored.weights
        ]
        frame = pd.DataFrame(policy.gradients(prompt, weights), columns=["norm_share", "cosine"])
        return frame.assign(rule=[r.name for r in rules], benchmark=prompt.benchmark, problem=prompt.problem)

    state = [[rule.name for rule in rules], hashlib.sha256(scored.weights.tobytes()).hexdigest()]
    folder = parts_folder(out, loaded, checkpoint, tokens, *state, fingerprint("stages.token_gradients"))
    none = pd.DataFrame(columns=list(records.GRADIENT_SHARES))
    gradients = in_parts(folder, chosen, take, records.GRADIENT_SHARES) if chosen else none
    records.write_frame(gradients, out, records.GRADIENT_SHARES)
    remove(folder.parent)
    print(f"{len(rules)} rules on {len(chosen)} of {len(mixed)} prompts with right and wrong answers")
