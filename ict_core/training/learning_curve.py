"""Accuracy on a few fixed held-out problems while a cell trains, answered by the training's own sampler."""

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import torch
from accelerate.utils import gather_object
from transformers import TrainerCallback

from ict_core.config.study_file import LearningCurve
from ict_core.grading.pool import GradingPool
from ict_core.seeding import derive_seed, generator

if TYPE_CHECKING:
    from ict_core.training.trainer import SelectiveGRPOTrainer


class HeldOut(NamedTuple):
    """The problems of a learning curve, the steps between its points, and the answers to each problem."""

    problems: pd.DataFrame  # `records.PROBLEMS`
    every: int  # optimiser steps between two points
    samples: int  # answers to each problem

    @classmethod
    def of(cls, curve: LearningCurve, problems: pd.DataFrame, seed: int) -> "HeldOut":
        """Drawn by the study's data seed from the evaluation problems, in their order: the same for every cell."""
        candidates = problems if curve.benchmarks is None else problems[problems["benchmark"].isin(curve.benchmarks)]
        drawn = generator(seed, "learning curve").choice(len(candidates), curve.problems, replace=False)
        return cls(candidates.iloc[sorted(drawn)].reset_index(drop=True), curve.every, curve.samples)


class CurvePoints(TrainerCallback):
    """Answers the problems at step 0 and every few optimiser steps, and logs `records.LEARNING_CURVE`.

    It does not change the training: its random numbers are its own, and weights and optimiser are not touched. A point
    is part of the checkpoint of its step, so a resumed training neither lacks nor repeats one. Every rank answers a
    part of the problems. ``seed`` is the cell's.
    """

    def __init__(self, trainer: "SelectiveGRPOTrainer", held_out: HeldOut, pool: GradingPool, seed: int) -> None:
        self._trainer, self._held_out, self._pool, self._seed = trainer, held_out, pool, seed
        ranks, rank = trainer.accelerator.num_processes, trainer.accelerator.process_index
        share = -(-len(held_out.problems) // ranks)  # problems per rank; the last ranks repeat the first problems
        self._own = [n % len(held_out.problems) for n in range(rank * share, (rank + 1) * share)]
        # as many rows at a time as a rollout batch has
        rows = trainer.args.per_device_train_batch_size * trainer.args.gradient_accumulation_steps
        self._at_once = max(1, rows // held_out.samples)
        prompts = held_out.problems["prompt"].tolist()
        self._prompts: list[list[int]] = trainer.processing_class(text=prompts)["input_ids"]

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called by transformers before the first step of a new or a resumed training."""
        if state.global_step == 0:
            self._answer(0)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Called by transformers after each optimiser step, and before it saves."""
        if state.global_step % self._held_out.every == 0:
            self._answer(state.global_step)

    def _answer(self, step: int) -> None:
        samples, log = self._held_out.samples, self._trainer.training_log
        numbers = [number for number in self._own for _ in range(samples)]
        ids = self._sampled(step)
        texts = self._trainer.processing_class.batch_decode(ids, skip_special_tokens=True)
        rows = self._held_out.problems.iloc[numbers]
        verdicts = self._pool.grade(list(zip(texts, rows["answer"], rows["answer_type"], strict=True)))
        gathered = gather_object([(v.status, len(answer)) for v, answer in zip(verdicts, ids, strict=True)])
        answers = self._held_out.problems[["benchmark", "problem"]]
        answers = answers.loc[answers.index.repeat(samples)].reset_index(drop=True)
        statuses, tokens = zip(*gathered[: len(answers)], strict=True)
        log.held_out(answers.assign(step=step, sample=answers.index % samples, status=statuses, tokens=tokens))
        log.start()  # its time counts for no step

    def _sampled(self, step: int) -> list[list[int]]:
        """This rank's answers as token ids, sampled as TRL samples rollouts."""
        trainer, samples, rank = self._trainer, self._held_out.samples, self._trainer.accelerator.process_index
        ids: list[list[int]] = []
        device = trainer.accelerator.device
        vllm: Any = trainer.vllm_generation if trainer.use_vllm else None
        rollout_seed = vllm and vllm.seed_of
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            for first in range(0, len(self._own), self._at_once):
                seed = derive_seed(self._seed, "learning curve", step, first)
                torch.manual_seed(derive_seed(seed, "answers", rank))
                if vllm:
                    vllm.seed_of = lambda row, seed=seed: derive_seed(seed, "request", row)
                part = self._own[first : first + self._at_once]
                rows = [self._prompts[problem] for problem in part for _ in range(samples)]
                ids += trainer._generate_single_turn(rows, None, {}, samples)[0]
        if vllm:
            vllm.seed_of = rollout_seed
        return ids
