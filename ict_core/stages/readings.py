"""Every reading of the paper on a model's answers: from its distributions to a row a reading, without a training."""

from pathlib import Path
from typing import TYPE_CHECKING

from ict_core.errors import UserError
from ict_core.jobs.command import Given, Name, StudyFile, command, study_of_model

if TYPE_CHECKING:
    import pandas as pd

    from ict_core.shadow.policy import Prompt

SETS = ("first", "second")
"""Of prompts, every other one each: what the first finds, the second confirms or refutes."""


@command("readings")
def run(
    study: StudyFile, model: Name, checkpoint: Given, problems: Given, rollouts: Given, claims: Given, out: Given
) -> None:
    """Cross all readings of the paper on a model's answers, from its distributions. Goes on where it was."""
    loaded = study_of_model(study, model)
    import pandas as pd
    import torch

    from ict_core.shadow.policy import Policy, in_parts, parts_folder, prompts_of
    from ict_core.shadow.readings import TEMPERATURES, crossing, token_readings
    from ict_core.store import records
    from ict_core.store.code import fingerprint
    from ict_core.store.files import hash_weights, remove
    from ict_core.store.manifests import check_files, remember_source

    remember_source()
    check_files(checkpoint)
    ranges, answers = ranges_of(claims), records.read_frame(rollouts, records.ROLLOUTS)
    prompts = prompts_of(loaded, model, answers, records.read_frame(problems, records.PROBLEMS))
    if len(prompts) < len(SETS):
        raise UserError(f"{rollouts}: {len(prompts)} prompt to read; allowed: at least {len(SETS)}, one for each set")
    policy = Policy(checkpoint, loaded)
    state = [loaded.stage_config("read_tokens"), hash_weights(checkpoint), records.content_hash(rollouts)]
    folder = parts_folder(out, *state, fingerprint("stages.readings"))

    def read(prompt: "Prompt") -> "pd.DataFrame":
        group = policy.rollouts(prompt.prompt, prompt.ids)
        logits, at = policy.logits(group), (group.completion_ids, group.completion_mask)
        unigram = drawn.bincount(minlength=logits.size(-1)) / len(drawn)
        frames = [
            token_readings(torch.softmax(logits / t, -1), *at, unigram).assign(temperature=t) for t in TEMPERATURES
        ]
        return pd.concat(frames).assign(group=prompt.number)

    found = []
    for number, kind in enumerate(SETS):
        some = prompts[number :: len(SETS)]
        drawn = torch.tensor([token for prompt in some for ids in prompt.ids for token in ids])
        tokens = in_parts(folder / kind, some, read, records.READING_TOKENS, "prompt")
        found.append(crossing(tokens, ranges).assign(set=kind))
        print(f"{kind} set: {found[-1]['tokens'].max()} tokens of {len(some)} prompts")
    records.write_frame(pd.concat(found), out, records.READINGS)
    remove(folder.parent)


def ranges_of(claims: Path) -> dict[str, tuple[float, float]]:
    """The range of each of `shadow.FIGURES`, as the ledger has it of ICT's kept tokens."""
    from ict_core.evidence.claims import Measure, read_claims
    from ict_core.shadow.readings import FIGURES

    tests = [claim.test for claim in read_claims(claims) if isinstance(claim.test, Measure)]
    ranges = {test.quantity: test.within for test in tests if test.within is not None}
    if missing := [quantity for quantity in FIGURES.values() if quantity not in ranges]:
        raise UserError(f"{claims}: no claim states `within` of {', '.join(missing)}; allowed: one of each")
    return {figure: ranges[quantity] for figure, quantity in FIGURES.items()}
