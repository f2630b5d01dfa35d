"""Every reading of the paper on a model's answers: one row per reading from its distributions, without a training."""

from pathlib import Path
from typing import TYPE_CHECKING

from ict_core.errors import UserError
from ict_core.jobs.command import Given, Name, StudyFile, command, study_of_model

if TYPE_CHECKING:
    import pandas as pd

    from ict_core.shadow.policy import Prompt

SETS = ("first", "second")
"""Two sets of prompts, every other one in each: the second set confirms or refutes what the first finds."""


@command("readings")
def run(
    study: StudyFile, model: Name, checkpoint: Given, problems: Given, rollouts: Given, claims: Given, out: Given
) -> None:
    """Cross all readings of the paper on a model's answers, from its distributions. Continues where it stopped."""
    loaded = study_of_model(study, model)
    import pandas as pd
    import torch

    from ict_core.shadow.policy import in_parts, opened, parts_folder
    from ict_core.shadow.readings import TEMPERATURES, crossing, token_readings
    from ict_core.store import records
    from ict_core.store.code import fingerprint
    from ict_core.store.files import remove

    ranges = ranges_of(claims)
    policy, prompts = opened(loaded, model, checkpoint, rollouts, problems)
    if len(prompts) < len(SETS):
        raise UserError(f"{rollouts}: {len(prompts)} prompt to read; allowed: at least {len(SETS)}, one for each set")
    folder = parts_folder(out, loaded, checkpoint, rollouts, fingerprint("stages.readings"))

    def read(prompt: "Prompt") -> "pd.DataFrame":
        logits, at = policy.logits(prompt.rollouts), (prompt.rollouts.completion_ids, prompt.rollouts.completion_mask)
        unigram = drawn.bincount(minlength=logits.size(-1)) / len(drawn)
        frames = [
            token_readings(torch.softmax(logits / t, -1), *at, unigram).assign(temperature=t) for t in TEMPERATURES
        ]
        return pd.concat(frames).assign(group=prompt.number)

    found = []
    for number, kind in enumerate(SETS):
        subset = prompts[number :: len(SETS)]
        drawn = torch.cat([p.rollouts.completion_ids[p.rollouts.completion_mask] for p in subset])
        tokens = in_parts(folder / kind, subset, read, records.READING_TOKENS)
        found.append(crossing(tokens, ranges).assign(set=kind))
        print(f"{kind} set: {found[-1]['tokens'].max()} tokens of {len(subset)} prompts")
    records.write_frame(pd.concat(found), out, records.READINGS)
    remove(folder.parent)


def ranges_of(claims: Path) -> dict[str, tuple[float, float]]:
    """The range of each of `shadow.readings.FIGURES` that the ledger states for ICT's kept tokens."""
    from ict_core.evidence.claims import Measure, read_claims
    from ict_core.shadow.readings import FIGURES

    tests = [claim.test for claim in read_claims(claims) if isinstance(claim.test, Measure)]
    ranges = {test.quantity: test.within for test in tests if test.within is not None}
    if missing := [quantity for quantity in FIGURES.values() if quantity not in ranges]:
        raise UserError(f"{claims}: no claim states `within` of {', '.join(missing)}; allowed: one of each")
    return {figure: ranges[quantity] for figure, quantity in FIGURES.items()}
