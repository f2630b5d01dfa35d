"""One training run: from a base checkpoint and problems to a model, its log and its manifest.

All methods share its recipe, which is expressed as TRL's configuration.
"""

import contextlib
import functools
import os
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import torch
import transformers
from datasets import Dataset
from transformers import PrinterCallback, Trainer, TrainerCallback
from transformers.trainer import TRAINING_ARGS_NAME
from trl import GRPOConfig

from ict_core.config.inputs import Dtype, Model
from ict_core.config.methods import Method, Rollouts, Training
from ict_core.errors import UserError
from ict_core.grading.pool import GradingPool
from ict_core.models.read import read_model, read_tokenizer
from ict_core.problems.mini.arithmetic import fork_tokens
from ict_core.problems.mini.decisions import decision_tokens
from ict_core.problems.templates import templated
from ict_core.process import numerics, vllm_environment
from ict_core.process.job_log import Progress
from ict_core.process.startup import loading, reuse_freed_memory
from ict_core.seeding import derive_seed
from ict_core.store import records
from ict_core.store.files import appearing, hash_weights, partial_of, write_text
from ict_core.store.layout import MANIFEST, TrainFiles, checkpoints_folder, trained_model
from ict_core.store.manifests import cost, file_hashes, manifest, write_manifest
from ict_core.store.manifests import resolved as settings_as_json
from ict_core.training import sharding
from ict_core.training._kept_rollouts import NUMBER, KeptRollouts
from ict_core.training.choice import Choice
from ict_core.training.fast.sampling import sample_lean
from ict_core.training.learning_curve import CurvePoints, HeldOut
from ict_core.training.model_card import model_card
from ict_core.training.resume import Checkpoints, origin, train_from
from ict_core.training.rewards import random_reward, verifier_reward
from ict_core.training.token_log import TrainingLog
from ict_core.training.trl_arguments import bonus_arguments

if TYPE_CHECKING:
    from ict_core.training.trainer import SelectiveGRPOTrainer


class Tracking(NamedTuple):
    """Where a run is reported to."""

    trackers: tuple[str, ...]  # TRL's `report_to`
    folder: Path  # for the files that they write
    project: str  # the study
    run: str  # the cell


@dataclass(frozen=True)
class TrainingRun:
    """The inputs of one training."""

    base: Path  # the base checkpoint
    problems: pd.DataFrame  # `records.PROBLEMS`, the training problems
    model: Model  # the base model's configuration: its template, the dtype it is saved in, its hardware
    training: Training  # the shared recipe, with the micro-batches of that hardware
    method: Method
    seed: int  # the cell's
    known_forks: bool = False  # whether the problems are the mini world's, whose true steps are known
    tracking: Tracking | None = None  # where the run is reported to; None: nowhere
    held_out: HeldOut | None = None  # the problems of the learning curve; None: there is none
    keep_rollouts: bool = False  # whether all rollouts are kept
    launcher: str = ""  # hash of the launcher's file; empty without one


@numerics.products()
def train_run(
    run: TrainingRun, grading: dict[str, Any], resolved: dict[str, Any], out: Path, stop_after: int | None = None
) -> None:
    """Train one cell and write ``out``, which appears complete or not at all.

    While it trains, checkpoints are in a folder beside it, ``<out>.checkpoints``; a training resumes from the last one.
    Under a launcher (accelerate, torchrun) every rank calls this function, and the first rank writes ``model/``, the
    files of `TrainFiles` and ``manifest.json``. ``grading`` holds keywords of ``GradingPool``; ``resolved`` is the
    cell's resolved configuration. Training stops at optimiser step ``stop_after`` of the full training, if given.

    Raises:
        UserError: too few prompts are short enough, the ranks cannot share the rollouts, or vLLM lacks the weights.
    """
    started = time.perf_counter()
    reuse_freed_memory()
    torch.set_num_threads(run.training.threads)
    transformers.set_seed(derive_seed(run.seed, "training"))
    problems_sha256 = records.frame_hash(run.problems, records.PROBLEMS)
    problems = run.problems.assign(prompt=templated(run.model.prompt, run.problems["prompt"]))
    short = _short(run.base, problems, run.training)
    held_out, held_out_sha256 = run.held_out, {}
    if held_out is not None:
        held_out_sha256 = {"held_out_sha256": records.frame_hash(held_out.problems, records.PROBLEMS)}
        in_template = templated(run.model.prompt, held_out.problems["prompt"])
        held_out = held_out._replace(problems=held_out.problems.assign(prompt=in_template))
    first = os.environ.get("RANK", "0") == "0"  # a launcher sets it
    scratch = checkpoints_folder(out)
    with appearing(out) if first else contextlib.nullcontext(partial_of(out)) as partial:
        with GradingPool(workers=run.training.threads, **grading) as pool:  # the trainer waits while they work
            with loading():
                trainer, log = build_trainer(replace(run, problems=short, held_out=held_out), pool, scratch)
            inputs = {
                "base_sha256": hash_weights(run.base) if first else "",
                "problems_sha256": problems_sha256,
                **held_out_sha256,
                "ranks": trainer.accelerator.num_processes,
                **({"launcher_sha256": run.launcher} if run.launcher else {}),
            }
            checkpoints = Checkpoints(
                scratch, origin(run.method.selector, resolved, inputs), started, run.training.checkpoints_kept
            )
            train_from(trainer, checkpoints if first else None, stop_after)
        save_weights(trainer, run.model.dtype, trained_model(partial))
        if not first:
            return
        log.write(partial)
        facts: dict[str, Any] = {} if stop_after is None else {"stopped_after": stop_after}
        facts |= cost(checkpoints.started, int(log.steps()["tokens"].sum()))
        facts |= {
            **inputs,
            "stage": "train",
            "prompts_too_long": len(problems) - len(short),
            "resumed_at": checkpoints.resumed_at,
            "earlier_machines": checkpoints.machines[:-1],  # one for each step at which the training resumed
            # TRL's defaults change between releases, so all values are recorded, except paths
            "trl": {k: v for k, v in trainer.args.to_dict().items() if k not in ("output_dir", "logging_dir")},
            "engine_settings": rollout_engine(trainer),
            "model_sha256": hash_weights(trained_model(partial)),
        }
        content = manifest(resolved) | facts
        licensed = {**resolved["model"], "licence": getattr(run.model, "licence", None)}
        write_text(trained_model(partial) / "README.md", model_card({**resolved, "model": licensed}, content))
        write_manifest(partial / MANIFEST, content | {"files": file_hashes(partial)})
    checkpoints.remove()


def _short(base: Path, problems: pd.DataFrame, training: Training) -> pd.DataFrame:
    """The problems whose prompts have at most ``max_prompt_tokens``; a UserError if too few for a step."""
    limit, minimum = training.max_prompt_tokens, training.prompts_per_step
    if len(problems) < minimum:
        raise UserError(f"{len(problems)} training problems are too few; allowed: at least {minimum}, those of a step")
    if limit is None:
        return problems
    ids = read_tokenizer(base)(problems["prompt"].tolist())["input_ids"]
    short = problems[[len(prompt) <= limit for prompt in ids]]
    if len(short) < minimum:
        allowed = f"at least {sorted(map(len, ids))[minimum - 1]}, so that {minimum} prompts are left for a step"
        raise UserError(f"max_prompt_tokens: {limit} is not allowed; allowed: {allowed}")
    return short


def build_trainer(run: TrainingRun, pool: GradingPool, scratch: Path) -> tuple["SelectiveGRPOTrainer", TrainingLog]:
    """The trainer of a cell and the log that it fills; the prompts already have the model's template.

    TRL's trainer is imported here, with vLLM if that is installed and not left out (`process.startup.loading`).
    """
    if run.training.rollouts is not None:
        if run.training.rollouts.engine == "vllm-colocate" and "VLLM_BATCH_INVARIANT" in os.environ:
            # It would replace operations of the trainer too, some by ones without a gradient. An engine of this process
            # needs none: it gets the same batches in the same order.
            os.environ["VLLM_BATCH_INVARIANT"] = "0"
        vllm_environment.set_environment()
    from ict_core.training.rollouts import seeded_generation
    from ict_core.training.trainer import SelectiveGRPOTrainer

    training, method = run.training, run.method
    ranks = int(os.environ.get("WORLD_SIZE", "1"))  # a launcher sets it
    if training.sequences_per_step % (training.micro_batch_sequences * ranks):
        raise UserError(
            f"{ranks} ranks with micro-batches of {training.micro_batch_sequences} do not divide the "
            f"{training.sequences_per_step} rollouts of a step; start as many ranks as the model's hardware.gpus says"
        )
    tokenizer = read_tokenizer(run.base)
    forks = functools.partial(fork_tokens, tokenizer) if run.known_forks else None
    decisions = functools.partial(decision_tokens, tokenizer) if run.known_forks else None
    columns = run.problems[["prompt", "answer", "answer_type"]]
    kept = None
    if run.keep_rollouts:
        columns = columns.assign(**{NUMBER: range(len(columns))})
        if os.environ.get("RANK", "0") == "0":
            kept = KeptRollouts(TrainFiles(scratch).rollouts, run.problems, training.group_size, tokenizer)
    log = TrainingLog(training.group_size, training.token_sample_every, training.token_sample_groups, forks, kept)
    adapters = None
    if (lora := training.lora) is not None:
        from peft import LoraConfig

        adapters = LoraConfig(r=lora.rank, lora_alpha=lora.alpha, target_modules="all-linear", task_type="CAUSAL_LM")
    chance, hardware = method.random_reward, run.model.hardware
    longest = 0  # tokens of the longest prompt, which only vLLM needs
    if training.rollouts is not None:
        prompts = run.problems["prompt"].tolist()
        prompts += [] if run.held_out is None else run.held_out.problems["prompt"].tolist()
        longest = max(map(len, tokenizer(prompts)["input_ids"]))
    arguments = grpo_config(
        training,
        run.seed,
        scratch,
        processes=ranks,
        gradient_checkpointing=hardware is not None and hardware.gradient_checkpointing,
        max_prompt_tokens=longest,
        tracking=run.tracking,
    )
    if (bonus := getattr(method, "entropy_bonus", None)) is not None:
        for name, value in bonus_arguments(bonus).items():
            setattr(arguments, name, value)
    with contextlib.nullcontext() if training.rollouts is None else seeded_generation(run.model.dtype):
        trainer = SelectiveGRPOTrainer(
            model=read_model(run.base, "float32"),
            processing_class=tokenizer,
            reward_funcs=verifier_reward(pool) if chance is None else random_reward(chance, run.seed),
            args=arguments,
            train_dataset=Dataset.from_pandas(columns, preserve_index=False),
            peft_config=adapters,
            passes=training.passes,
            selection=replace(Choice.of(method), decisions=decisions),
            seed=run.seed,
            training_log=log,
            probe_bound=None if training.rollouts is None else training.rollouts.probe_bound,
        )
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(ShownProgress("reward"))
    if run.held_out is not None:
        trainer.add_callback(CurvePoints(trainer, run.held_out, pool, run.seed))
    if training.passes == "packed" and training.rollouts is None and training.precision == "float32":
        sample_lean(trainer.model)
    return trainer, log


class ShownProgress(TrainerCallback):
    """Shows a :class:`Progress` of the optimiser steps on the first rank, with a mean that TRL logs for each step."""

    def __init__(self, shown: str) -> None:
        self._shown = shown
        self._mean = float("nan")
        self._progress: Progress | None = None

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Called by transformers after each step, with TRL's means over it, and once more at the end without them."""
        if state.is_world_process_zero and "loss" in logs:
            self._progress = self._progress or Progress("step", state.max_steps)
            mean = logs.get(self._shown, self._mean)  # of the last rollouts, where an update has none of its own
            self._mean = float("nan") if mean is None else mean  # None where no answer could be graded
            self._progress.update(state.global_step, **{self._shown: self._mean})


def save_weights(trainer: Trainer, dtype: Dtype, out: Path) -> None:
    """Save a trainer's model to the folder ``out`` in that dtype, adapters merged; every rank must call it."""
    merged = hasattr(trainer.accelerator.unwrap_model(trainer.model), "merge_and_unload")
    if dtype == "float32" and not merged:
        trainer.save_model(str(out))
        (out / TRAINING_ARGS_NAME).unlink(missing_ok=True)  # a pickle, which the first rank wrote
        return
    saved = out / "float32"
    trainer.save_model(str(saved))  # with adapters, only the adapters
    if not trainer.accelerator.is_main_process:
        return
    if merged:
        model = trainer.accelerator.unwrap_model(trainer.model).merge_and_unload().to(getattr(torch, dtype))
    else:
        model = read_model(saved, dtype)
    model.save_pretrained(out)
    read_tokenizer(saved).save_pretrained(out)
    shutil.rmtree(saved)


def rollout_engine(trainer: "SelectiveGRPOTrainer") -> dict[str, Any] | None:
    """All settings of a colocated vLLM; None without one (a server's settings are not known here)."""
    if not trainer.use_vllm or trainer.vllm_mode != "colocate":
        return None
    return {"engine": settings_as_json(trainer.vllm_generation.llm.llm_engine.vllm_config)}


def grpo_config(
    training: Training,
    seed: int,
    scratch: Path,
    *,
    processes: int = 1,
    gradient_checkpointing: bool = False,
    max_prompt_tokens: int = 0,
    tracking: Tracking | None = None,
) -> GRPOConfig:
    """TRL's configuration of a run; it does not depend on the method.

    Group-normalised advantages (ddof 1, eps 1e-4), no advantage or length re-weighting, sampling from the full
    distribution (top-p 1, no top-k).

    The order of the prompts is derived from the cell's ``seed``. ``scratch`` receives checkpoints and everything else
    that TRL writes. Each of ``processes`` ranks takes an equal part of the rollouts. ``max_prompt_tokens``, the length
    of the longest prompt, is needed where vLLM makes the rollouts.
    """
    arguments = GRPOConfig(
        output_dir=str(scratch),
        seed=derive_seed(seed, "data order"),
        use_cpu=not torch.cuda.is_available(),
        bf16=training.precision == "bfloat16",
        gradient_checkpointing=gradient_checkpointing,
        logging_steps=1,
        save_strategy="no" if training.checkpoint_every is None else "steps",
        save_steps=training.checkpoint_every or 1,
        disable_tqdm=True,
        dataloader_pin_memory=False,
        remove_unused_columns=False,
        max_steps=training.steps,
        per_device_train_batch_size=training.micro_batch_sequences,
        gradient_accumulation_steps=training.accumulation_steps(processes),
        num_generations=training.group_size,
        max_completion_length=training.max_new_tokens,
        temperature=training.temperature,
        top_p=1.0,
        top_k=0,
        loss_type="grpo",
        scale_rewards="group",
        num_iterations=training.updates,
        beta=training.kl_coef,
        router_aux_loss_coef=0.0,  # the load-balancing loss of experts is not computed
        use_bias_correction_kl=False,  # plain k3, as in the objective
        epsilon=training.clip_low,
        epsilon_high=training.clip_high,
        mask_truncated_completions=False,
        learning_rate=training.learning_rate,
        lr_scheduler_type=training.lr_schedule or "constant_with_warmup",
        warmup_steps=training.lr_warmup_steps,
        weight_decay=training.weight_decay,
        max_grad_norm=training.grad_clip,
        adam_beta1=training.adam_betas[0],
        adam_beta2=training.adam_betas[1],
        **_tracked(tracking),
        **_vllm(training.rollouts, max_prompt_tokens + training.max_new_tokens),
    )
    if sharding.is_sharded():
        sharding.prepare(arguments)
    return arguments


def _tracked(tracking: Tracking | None) -> dict[str, Any]:
    """TRL's arguments for the trackers; the variables that the trackers read themselves are set in the environment.

    Logins are not handled here: wandb and trackio have their own variables and files for them.
    """
    if tracking is None:
        return {"report_to": "none"}
    tracking.folder.mkdir(parents=True, exist_ok=True)
    folder = str(tracking.folder.absolute())
    os.environ |= dict.fromkeys(("TENSORBOARD_LOGGING_DIR", "WANDB_DIR", "TRACKIO_DIR"), folder)
    os.environ.setdefault("WANDB_PROJECT", tracking.project)
    return {"report_to": list(tracking.trackers), "run_name": tracking.run, "project": tracking.project}


def _vllm(rollouts: Rollouts | None, max_length: int) -> dict[str, Any]:
    """TRL's arguments for vLLM; none where transformers makes the rollouts."""
    if rollouts is None:
        return {}
    place: dict[str, Any] = {"vllm_server_base_url": rollouts.server}
    if rollouts.engine == "vllm-colocate":
        place = {
            "vllm_gpu_memory_utilization": rollouts.memory_share,
            "vllm_enable_sleep_mode": rollouts.sleep,
        }
    return {
        "use_vllm": True,
        "vllm_max_model_length": max_length,
        "vllm_mode": rollouts.engine.removeprefix("vllm-"),
        "vllm_importance_sampling_correction": True,
        "vllm_importance_sampling_mode": rollouts.correction.mode,
        "vllm_importance_sampling_clip_min": rollouts.correction.clip_min,
        "vllm_importance_sampling_clip_max": rollouts.correction.clip_max,
        **place,
    }
