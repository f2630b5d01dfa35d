"""Every response token of an untrained model's answers: what the policy was there, and all scores."""

from typing import TYPE_CHECKING

from ict_core.jobs.command import Given, Name, StudyFile, command, study_of_model

if TYPE_CHECKING:
    import pandas as pd

    from ict_core.shadow.policy import Prompt


@command("read-tokens")
def run(study: StudyFile, model: Name, checkpoint: Given, problems: Given, rollouts: Given, out: Given) -> None:
    """Read every token of an untrained model's answers: entropies and all scores. Goes on where it was."""
    loaded = study_of_model(study, model)
    from ict_core.shadow.policy import Policy, in_parts, parts_folder, prompts_of
    from ict_core.store import records
    from ict_core.store.code import fingerprint
    from ict_core.store.files import hash_weights, remove
    from ict_core.store.manifests import check_files, remember_source

    remember_source()
    check_files(checkpoint)
    answers, asked = records.read_frame(rollouts, records.ROLLOUTS), records.read_frame(problems, records.PROBLEMS)
    prompts = prompts_of(loaded, model, answers, asked)
    policy = Policy(checkpoint, loaded)

    def read(prompt: "Prompt") -> "pd.DataFrame":
        sampled = policy.rollouts(prompt.prompt, prompt.ids)
        return policy.tokens(sampled, prompt.rewards, prompt.advantages).assign(group=prompt.number)

    state = [loaded.stage_config("read_tokens"), hash_weights(checkpoint), records.content_hash(rollouts)]
    folder = parts_folder(out, *state, fingerprint("stages.read_tokens"))
    tokens = in_parts(folder, prompts, read, records.TOKENS, "prompt")
    records.write_frame(tokens, out, records.TOKENS)
    remove(folder.parent)
    print(f"{len(tokens)} tokens of {len(prompts)} prompts")
