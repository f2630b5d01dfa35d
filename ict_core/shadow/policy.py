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


class Policy:
    """A model in float32, in evaluation mode, on a GPU if one is visible; it reads the rollouts of a study."""

    def __init__(self, checkpoint: Path, study: Study) -> None:
        torch.set_num_threads(study.evaluation.threads)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.tokenizer = read_tokenizer(checkpoint)
        self.model: Any = read_model(checkpoint, "float32").eval().to(device)
        self.temperature = study.evaluation.temperature
        self.packed = study.training.passes == "packed"  # without padding; else as padded rows, for any model
        if self.packed:
            add_packed_forward(self.model, self.temperature)

    def rollouts(self, prompt: str, ids: Sequence[Sequence[int]]) -> Rollouts:
        """The rollouts of one prompt, which is in its template already, from the tokens that were sampled."""
        return Rollouts.of(self.tokenizer, [prompt] * len(ids), [torch.tensor(some) for some in ids])

    @torch.no_grad()
    def tokens(self, rollouts: Rollouts, rewards: Tensor, advantages: Tensor) -> pd.DataFrame:
        """`records.TOKENS` of one prompt's rollouts, every score included."""
        statistics, *_ = read_groups(self.model, rollouts, len(rewards), self.temperature, self.packed)
        return token_rows(rollouts, statistics, rewards, advantages)

    @torch.no_grad()
    def logits(self, rollouts: Rollouts) -> Tensor:
        """Logits, (B, T, V), at every response token, float32 on the CPU, all at once; arbitrary elsewhere."""
        states, where = predicting_states(self.model, rollouts, self.packed)
        logits: Tensor = lm_head(self.model).logits(states).float().cpu()
        return logits[where.clamp(min=0).cpu()]

    def gradients(self, rollouts: Rollouts, advantages: Tensor, weights: Sequence[Tensor]) -> list[tuple[float, float]]:
        """:func:`gradient_shares` of rules' weights, (B, T) each."""
        return gradient_shares(self.model, rollouts, advantages, weights, self.temperature, self.packed)


class Prompt(NamedTuple):
    """One prompt's rollouts."""

    number: int  # in the order of the problems
    benchmark: str
    problem: str
    prompt: str  # in the model's template
    ids: list[tuple[int, ...]]  # of each rollout
    rewards: Tensor  # 1 for a correct answer, else 0; NaN if it could not be graded

    @property
    def advantages(self) -> Tensor:
        """:func:`group_advantages`; all 0 unless there are right and wrong answers."""
        return group_advantages(self.rewards, len(self.ids))


def opened(study: Study, model: str, checkpoint: Path, rollouts: Path, problems: Path) -> tuple[Policy, list[Prompt]]:
    """The policy of a checkpoint, checked against its manifest, and :func:`prompts_of` of the frames in two files."""
    remember_source()
    check_files(checkpoint)
    answers, questions = records.read_frame(rollouts, records.ROLLOUTS), records.read_frame(problems, records.PROBLEMS)
    prompts = prompts_of(study, model, answers, questions)  # before the model is loaded: it may refuse them
    return Policy(checkpoint, study), prompts


def prompts_of(study: Study, model: str, rollouts: pd.DataFrame, problems: pd.DataFrame) -> list[Prompt]:
    """The prompts of a model's `records.ROLLOUTS`, in the order of the problems: all, or if the study says so
    (`token_study.with_advantage`) only those with right and wrong answers; a UserError if it wants these and has none.
    """
    found = []
    by_problem = dict(iter(rollouts.groupby(["benchmark", "problem"], sort=False)))
    templated_problems = problems.assign(prompt=templated(study.models[model].prompt, problems["prompt"]))
    for number, row in enumerate(templated_problems.itertuples(index=False)):
        samples = by_problem[(row.benchmark, row.problem)].sort_values("sample")
        graded = samples["status"].isin(records.STATUSES_GRADED)
        rewards = (samples["status"] == "correct").astype(float).where(graded).to_numpy()
        fields = str(row.benchmark), str(row.problem), str(row.prompt), records.unlisted(samples["ids"])
        found.append(Prompt(number, *fields, torch.tensor(rewards, dtype=torch.float32)))
    if not study.token_study.with_advantage:
        return found
    if not (mixed := [prompt for prompt in found if prompt.advantages.any()]):
        raise UserError(
            f"token_study: with_advantage: none of the {len(found)} prompts has right and wrong answers; give the"
            " study more or easier problems, more samples a problem, or false here"
        )
    return mixed


def in_parts(
    folder: Path, prompts: Sequence[Prompt], make: Callable[[Prompt], pd.DataFrame], columns: dict[str, str], unit: str
) -> pd.DataFrame:
    """The frames of all prompts, made one by one and concatenated; progress is shown.

    Each frame is written into `folder` as soon as it is made, so that a killed job continues there. `folder` belongs to
    one model, its rollouts and settings; the caller removes it once the result is stored.
    """
    folder.mkdir(parents=True, exist_ok=True)
    frames: list[pd.DataFrame] = []
    progress = Progress(unit, len(prompts))
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
