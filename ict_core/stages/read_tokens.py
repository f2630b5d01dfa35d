"""Every response token of an untrained model's answers, with the policy's entropies and all scores."""

from ict_core.jobs.command import Given, Name, StudyFile, command, study_of_model


@command("read-tokens")
def run(study: StudyFile, model: Name, checkpoint: Given, problems: Given, rollouts: Given, out: Given) -> None:
    """Read every token of an untrained model's answers: entropies and all scores. Continues where it stopped."""
    loaded = study_of_model(study, model)
    from ict_core.shadow.policy import in_parts, opened, parts_folder
    from ict_core.store import records
    from ict_core.store.code import fingerprint
    from ict_core.store.files import remove

    policy, prompts = opened(loaded, model, checkpoint, rollouts, problems)
    folder = parts_folder(out, loaded, checkpoint, rollouts, fingerprint("stages.read_tokens"))
    tokens = in_parts(folder, prompts, policy.tokens, records.TOKENS)
    records.write_frame(tokens, out, records.TOKENS)
    remove(folder.parent)
    print(f"{len(tokens)} tokens of {len(prompts)} prompts")
