"""An untrained model that reads rollouts token by token, a prompt at a time, and takes its gradients there."""

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
from ict_core.store.files import remove
from ict_core.training.fast.packed_forward import add_packed_forward


class Policy:
    """A model in float32, in evaluation mode, on a GPU where one is visible; it reads the rollouts of a study."""

    def __init__(self, checkpoint: Path, study: Study) -> None:
        torch.set_num_threads(study.evaluation.threads)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.tokenizer = read_tokenizer(checkpoint)
        self.model: Any = read_model(checkpoint, "float32").eval().to(device)
        self.temperature = study.evaluation.temperature
        self.packed = study.training.passes == "packed"  # without padding; else as padded rows, which any model can
        if self.packed:
            add_packed_forward(self.model, self.temperature)

    def rollouts(self, prompt: str, ids: Sequence[Sequence[int]]) -> Rollouts:
        """Those of one prompt, which stands in its template already, from the tokens that were sampled."""
        return Rollouts.of(self.tokenizer, [prompt] * len(ids), [torch.tensor(some) for some in ids])

    @torch.no_grad()
    def tokens(self, rollouts: Rollouts, rewards: Tensor, advantages: Tensor) -> pd.DataFrame:
        """`records.TOKENS` of one prompt's rollouts, every score among them."""
        statistics, *_ = read_groups(self.model, rollouts, len(rewards), self.temperature, self.packed)
        return token_rows(rollouts, statistics, rewards, advantages)

    @torch.no_grad()
    def logits(self, rollouts: Rollouts) -> Tensor:
        """(B, T, V) at every response token, float32 on the CPU, all held at once; outside the response any."""
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
    rewards: Tensor  # 1 for a correct answer, else 0; NaN where it could not be graded

    @property
    def advantages(self) -> Tensor:
        """:func:`group_advantages`; all 0 unless there are right and wrong answers."""
        return group_advantages(self.rewards, len(self.ids))


def prompts_of(study: Study, model: str, rollouts: pd.DataFrame, problems: pd.DataFrame) -> list[Prompt]:
    """The prompts of a model's `records.ROLLOUTS`, in the order of the problems: all, or where the study says so
    (`token_study.with_advantage`) those with right and wrong answers; a UserError where it wants these and has none.
    """
    found = []
    by_problem = dict(iter(rollouts.groupby(["benchmark", "problem"], sort=False)))
    asked = problems.assign(prompt=templated(study.models[model].prompt, problems["prompt"]))
    for number, row in enumerate(asked.itertuples(index=False)):
        samples = by_problem[(row.benchmark, row.problem)].sort_values("sample")
        graded = samples["status"].isin(records.STATUSES_GRADED)
        rewards = (samples["status"] == "correct").astype(float).where(graded).to_numpy()
        own = str(row.benchmark), str(row.problem), str(row.prompt), records.unlisted(samples["ids"])
        found.append(Prompt(number, *own, torch.tensor(rewards, dtype=torch.float32)))
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
    """A frame of every prompt, made one by one and put together; progress is shown.

    Each lies in the folder as soon as it is made, so that a job that was killed goes on there; `folder` is of one
    model, its rollouts and settings, and to be removed by the caller once the whole is stored.
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


def parts_folder(out: Path, *state: Any) -> Path:
    """Where the parts of an output lie that all this determines (JSON-able); those of another state are removed."""
    folder = out.with_name(f"{out.name}.parts")
    settings = hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()[:32]
    for other in folder.glob("*") if folder.is_dir() else ():
        if other.name != settings:
            remove(other)
    return folder / settings
