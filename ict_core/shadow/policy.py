"""An untrained model that reads rollouts token by token, a prompt at a time, and computes gradients on them."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import torch
from torch import Tensor

from ict_core.config.study import Study
from ict_core.errors import UserError
from ict_core.models.head import lm_head
from ict_core.models.read import read_model, read_tokenizer
from ict_core.problems.templates import templated
from ict_core.process.job_log import Progress
from ict_core.shadow.checkpoint import group_advantages
from ict_core.shadow.gradients import gradient_shares
from ict_core.shadow.rollouts import Rollouts, predicting_states, read_groups, token_rows
from ict_core.store import records
from ict_core.store.files import hash_weights, remove
from ict_core.store.manifests import check_files, remember_source
from ict_core.training.fast.packed_forward import add_packed_forward


class Prompt(NamedTuple):
    """One prompt's rollouts."""

    number: int  # in the order of the problems
    benchmark: str
    problem: str
    rollouts: Rollouts
    rewards: Tensor  # 1 for a correct answer, else 0; NaN if it could not be graded

    @property
    def advantages(self) -> Tensor:
        """:func:`group_advantages`; all 0 unless there are right and wrong answers."""
        return group_advantages(self.rewards, len(self.rewards))


class Policy:
    """A model in float32, in evaluation mode, on a GPU if one is visible; it reads the rollouts of a study."""

    def __init__(self, checkpoint: Path, study: Study) -> None:
        torch.set_num_threads(study.evaluation.threads)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model: Any = read_model(checkpoint, "float32").eval().to(device)
        self.temperature = study.evaluation.temperature
        self.packed = study.training.passes == "packed"  # without padding; else as padded rows, for any model
        if self.packed:
            add_packed_forward(self.model, self.temperature)

    @torch.no_grad()
    def tokens(self, prompt: Prompt) -> pd.DataFrame:
        """`records.TOKENS` of one prompt's rollouts, every score included; the group is the prompt's number."""
        statistics, *_ = read_groups(self.model, prompt.rollouts, len(prompt.rewards), self.temperature, self.packed)
        return token_rows(prompt.rollouts, statistics, prompt.rewards, prompt.advantages).assign(group=prompt.number)

    @torch.no_grad()
    def logits(self, rollouts: Rollouts) -> Tensor:
        """Logits, (B, T, V), at every response token, float32 on the CPU, all at once; arbitrary elsewhere."""
        states, where = predicting_states(self.model, rollouts, self.packed)
        logits: Tensor = lm_head(self.model).logits(states).float().cpu()
        return logits[where.clamp(min=0).cpu()]

    def gradients(self, prompt: Prompt, weights: Sequence[Tensor]) -> list[tuple[float, float]]:
        """:func:`gradient_shares` of rules' weights, (B, T) each, on one prompt's rollouts."""
        given = prompt.rollouts, prompt.advantages, weights
        return gradient_shares(self.model, *given, self.temperature, self.packed)


def opened(study: Study, model: str, checkpoint: Path, rollouts: Path, problems: Path) -> tuple[Policy, list[Prompt]]:
    """The policy of a checkpoint, checked against its manifest, and the prompts of its `records.ROLLOUTS`.

    The prompts are in the order of the problems: all, or if the study says so (`token_study.with_advantage`) only those
    with right and wrong answers; a UserError if it wants these and has none.
    """
    remember_source()
    check_files(checkpoint)
    answers, questions = records.read_frame(rollouts, records.ROLLOUTS), records.read_frame(problems, records.PROBLEMS)
    by_problem = dict(iter(answers.groupby(["benchmark", "problem"], sort=False)))
    prompts, tokenizer = [], read_tokenizer(checkpoint)
    templated_problems = questions.assign(prompt=templated(study.models[model].prompt, questions["prompt"]))
    for number, row in enumerate(templated_problems.itertuples(index=False)):
        names = str(row.benchmark), str(row.problem)
        if names not in by_problem:
            allowed = "a file of answers to each of these problems"
            raise UserError(f"{rollouts}: no answer to {'/'.join(names)} of {problems}; allowed: {allowed}")
        samples = by_problem[names].sort_values("sample")
        graded = samples["status"].isin(records.STATUSES_GRADED)
        rewards = (samples["status"] == "correct").astype(float).where(graded).to_numpy()
        ids = [torch.tensor(some) for some in records.unlisted(samples["ids"])]
        sampled = Rollouts.of(tokenizer, [str(row.prompt)] * len(ids), ids)
        prompts.append(Prompt(number, *names, sampled, torch.tensor(rewards, dtype=torch.float32)))
    if study.token_study.with_advantage:
        found, prompts = len(prompts), [prompt for prompt in prompts if prompt.advantages.any()]
        if not prompts:
            raise UserError(
                f"token_study: with_advantage: none of the {found} prompts has right and wrong answers; give the"
                " study more or easier problems, more samples a problem, or false here"
            )
    return Policy(checkpoint, study), prompts  # the model is loaded last, as the prompts may be refused


def in_parts(
    folder: Path, prompts: Sequence[Prompt], make: Callable[[Prompt], pd.DataFrame], columns: dict[str, str]
) -> pd.DataFrame:
    """The frames of all prompts, made one by one and concatenated; progress is shown.

    Each frame is written into `folder` as soon as it is made, so that a killed job continues there. `folder` belongs to
    one model, its rollouts and settings; the caller removes it once the result is stored.
    """
    folder.mkdir(parents=True, exist_ok=True)
    frames: list[pd.DataFrame] = []
    progress = Progress("prompt", len(prompts))
    for done, prompt in enumerate(prompts, start=1):
        file = folder / f"{prompt.number}.parquet"
        if not file.exists():
            records.write_frame(make(prompt), file, columns)
        frames.append(records.read_frame(file, columns, folder))
        progress.update(done)
    return pd.concat(frames, ignore_index=True)


def parts_folder(out: Path, study: Study, checkpoint: Path, frame: Path, *state: Any) -> Path:
    """The folder for the parts of an output; parts that were made in another state are removed.

    The state is the study's settings, the checkpoint's weights, the content of the frame read, and `state` (JSON-able).
    """
    folder = out.with_name(f"{out.name}.parts")
    read = [study.stage_config("read_tokens"), hash_weights(checkpoint), records.content_hash(frame)]
    settings = hashlib.sha256(json.dumps([*read, *state], sort_keys=True).encode()).hexdigest()[:32]
    for other in folder.glob("*") if folder.is_dir() else ():
        if other.name != settings:
            remove(other)
    return folder / settings
