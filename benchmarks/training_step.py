"""Cost of a training step relative to TRL's dense GRPO step on the same batch, without rollout and optimiser.

    python benchmarks/training_step.py                     # the tiny model, and 0.5B-shaped ones, on one core
    python benchmarks/training_step.py --settings tiny     # or: tiny, tiny-half, mini-s, 0.5b, 0.5b-bf16, smollm2
    python benchmarks/training_step.py --settings gpu-0.5b gpu-1.5b     # on a GPU, beside TRL's Triton path
    python benchmarks/training_step.py --settings tiny-half --profile ICT-10   # an arm's parts
    python benchmarks/training_step.py --settings smollm2 --tied     # what one array of a tied weight's gradient saves
    python benchmarks/training_step.py --quick             # all arms once, of next to nothing

A step consists of token statistics, selection, loss and backward pass. All arms take turns in one process, on the same
weights. A figure is the median over rounds of the ratio to TRL's step in the same round. Weights and tokens are random,
so rollouts share their prompt and nothing else. Memory is the peak of a separate process for each arm: what the step
adds to weights and gradients, its ratio to TRL's, and the total.
"""

import argparse
import cProfile
import json
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import report
import torch

from ict_core.process.startup import loading

with loading(without=("peft", "scipy", "vllm")):  # as a training job does
    from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM
    from trl import GRPOTrainer
    from trl.trainer.utils import split_tensor_dict

    from ict_core.config.load import load_study
    from ict_core.config.methods import Training
    from ict_core.problems.mini.tokenizer import train_tokenizer
    from ict_core.seeding import generator
    from ict_core.training.choice import Choice
    from ict_core.training.fast import packed_forward
    from ict_core.training.pretrain import save_checkpoint
    from ict_core.training.run import TrainingRun, build_trainer
    from ict_core.training.trainer import SelectiveGRPOTrainer

GROUP = 8
DENSE = "TRL, dense GRPO"
MEASURED = (DENSE, "GRPO", "ICT-10")  # arms whose memory is measured too
STUDY = load_study(report.REPOSITORY / "configs/studies/mini.yaml")


@dataclass(frozen=True)
class Setting:
    """A model's shape, and the lengths of a batch's prompts and responses in tokens."""

    layers: int
    width: int
    intermediate: int
    heads: tuple[int, int]
    vocabulary: int
    groups: int
    prompt: tuple[int, int]
    response: int  # the longest; the median is two fifths of it
    rounds: int
    half: bool = False  # whether every second group has advantage 0
    precision: str = "float32"
    gpu: bool = False
    few: bool = False  # a step takes minutes: only the arms of MEASURED, without a warm-up round
    llama: bool = False  # a Llama instead of a Qwen2
    memory: tuple[str, ...] = MEASURED  # the arms whose memory is measured, each in a process of its own


TINY = Setting(2, 96, 288, (3, 3), 320, 8, (12, 30), 80, 9)
SMALL = Setting(24, 896, 4864, (14, 2), 151_936, 1, (20, 40), 64, 2)
LARGE = Setting(28, 1536, 8960, (12, 2), 151_936, 1, (100, 200), 1024, 7, precision="bfloat16", gpu=True)
HALF = replace(SMALL, **{k: getattr(LARGE, k) for k in ("prompt", "response", "rounds", "precision", "gpu")})
SETTINGS = {
    "tiny": TINY,
    "tiny-half": Setting(**vars(TINY) | {"half": True}),
    # a step as large as trainings of the mini world need to learn: mini-s, 32 prompts, 8 rollouts each
    "mini-s": Setting(2, 64, 192, (2, 2), 352, 32, (12, 30), 80, 5),
    "0.5b": SMALL,
    # few tokens, as the head takes 26 ms for each on processors without bfloat16 instructions
    "0.5b-bf16": Setting(24, 896, 4864, (14, 2), 151_936, 1, (4, 8), 12, 1, precision="bfloat16", few=True, memory=()),
    # SmolLM2-135M on GSM8K's short problems
    "smollm2": Setting(30, 576, 1536, (9, 3), 49_152, 2, (80, 120), 96, 2, llama=True, few=True, memory=MEASURED[::2]),
    "gpu-0.5b": HALF,
    "gpu-0.5b-32": replace(HALF, groups=4, rounds=3),  # enough rollouts that the GPU limits the step
    "gpu-1.5b": LARGE,
    "quick": Setting(1, 32, 64, (2, 2), 320, 2, (4, 8), 16, 1, gpu=torch.cuda.is_available(), memory=MEASURED[::2]),
}

ARMS = {DENSE: None, "GRPO": "grpo", "ICT-10": "ict-10", "20-Entropy": "entropy-20", "STAPO": "stapo"}
PARTS = ("step_of", "states", "pack", "_attention", "token_statistics", "micro_batch_loss", "_engine_run_backward")


def checkpoint(setting: Setting, folder: Path) -> None:
    """Random weights of a shape, with the mini world's tokenizer."""
    tokenizer = train_tokenizer(320)
    config_of, model_of = (LlamaConfig, LlamaForCausalLM) if setting.llama else (Qwen2Config, Qwen2ForCausalLM)
    config = config_of(
        hidden_size=setting.width,
        intermediate_size=setting.intermediate,
        num_hidden_layers=setting.layers,
        num_attention_heads=setting.heads[0],
        num_key_value_heads=setting.heads[1],
        vocab_size=setting.vocabulary,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    torch.manual_seed(0)
    save_checkpoint(model_of(config), tokenizer, folder)  # type: ignore[arg-type]  # it saves any decoder


def batch(setting: Setting, device: torch.device) -> dict[str, Any]:
    """Random rollouts with log-normal lengths, in the layout of TRL's trainer."""
    rng = generator(0, "training step")
    rows = setting.groups * GROUP
    prompts = np.repeat(rng.integers(*setting.prompt, setting.groups), GROUP)
    lengths = np.clip(rng.lognormal(np.log(0.4 * setting.response), 0.6, rows).astype(int), 2, setting.response)
    prompt_mask = torch.arange(prompts.max()) >= torch.from_numpy(prompts.max() - prompts)[:, None]
    completion_mask = torch.arange(lengths.max()) < torch.from_numpy(lengths)[:, None]
    tokens = torch.from_numpy(rng.integers(5, setting.vocabulary, (setting.groups, prompts.max())))
    advantages = torch.from_numpy(rng.standard_normal(rows)).float()
    if setting.half:
        advantages[torch.arange(rows) // GROUP % 2 == 0] = 0.0
    responses = torch.from_numpy(rng.integers(5, setting.vocabulary, completion_mask.shape))
    tensors = {
        "prompt_ids": tokens.repeat_interleave(GROUP, 0) * prompt_mask,
        "prompt_mask": prompt_mask.long(),
        "completion_ids": responses * completion_mask,
        "completion_mask": completion_mask.long(),
        "rewards": torch.zeros(rows),
        "advantages": advantages,
        "num_items_in_batch": completion_mask.sum(),
    }
    return {name: value.to(device) for name, value in tensors.items()}


def trainer_of(setting: Setting, base: Path, passes: str) -> SelectiveGRPOTrainer:
    """A trainer for a model of this shape on the device, by the mini recipe without KL term and token sample."""
    recipe = STUDY.training.model_dump() | {
        "prompts_per_step": setting.groups,
        "micro_batch_sequences": setting.groups * GROUP,
        "kl_coef": 0.0,
        "precision": setting.precision,
        "passes": passes,
        "token_sample_every": 2,  # none at the measured step, which is the first
    }
    problems = pd.DataFrame({"prompt": ["1"] * 8, "answer": ["1"] * 8, "answer_type": ["integer"] * 8})
    method = STUDY.methods["grpo"]
    training_run = TrainingRun(base, problems, STUDY.models["mini-s"], Training(**recipe), method, seed=0)
    trainer, _ = build_trainer(training_run, None, base / "scratch")  # type: ignore
    trainer.state.global_step = 1
    trainer.current_gradient_accumulation_steps = 1
    trainer.model.train()
    return trainer


def step_of(trainer: SelectiveGRPOTrainer, rollouts: dict[str, Any], variant: str | None) -> None:
    """One step of an arm, from the rollouts to the gradients."""
    inputs = dict(rollouts)
    compute: Callable[..., torch.Tensor] = GRPOTrainer._compute_loss
    if variant is not None:
        method = STUDY.methods[variant].model_copy(update={"warmup_steps": 0})
        trainer._choice = Choice.of(method)
        trainer._select_tokens(inputs, trainer.state.global_step)
        compute = SelectiveGRPOTrainer.micro_batch_loss
    with trainer.compute_loss_context_manager():
        loss = compute(trainer, trainer.model, split_tensor_dict(inputs, 1)[0])
    trainer.accelerator.backward(loss)
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def trainers_of(setting: Setting, base: Path, names: Iterable[str]) -> dict[str, SelectiveGRPOTrainer]:
    """The trainer of each arm; all arms but TRL's share one."""
    kinds = {name: "dense" if ARMS[name] is None else "packed" for name in names}
    built = {kind: trainer_of(setting, base, kind) for kind in sorted(set(kinds.values()))}
    return {name: built[kind] for name, kind in kinds.items()}


def in_turns(
    trainers: Mapping[str, SelectiveGRPOTrainer], variants: Mapping[str, str | None], setting: Setting, rounds: int
) -> dict[str, list[float]]:
    """Wall seconds of each arm's steps on the same rollouts, in turns, after a warm-up round unless `setting.few`."""
    rollouts = batch(setting, next(iter(trainers.values())).accelerator.device)
    seconds: dict[str, list[float]] = {name: [] for name in trainers}
    for _ in range(rounds + (not setting.few)):
        for name, trainer in trainers.items():
            started = time.perf_counter()
            step_of(trainer, rollouts, variants[name])
            seconds[name].append(time.perf_counter() - started)
            trainer.model.zero_grad(set_to_none=True)
    return {name: values[-rounds:] for name, values in seconds.items()}


def ratios(setting: Setting, base: Path) -> dict[str, float]:
    """Median ratio of each arm's wall time to that of TRL's step in the same round."""
    counted = in_turns(trainers_of(setting, base, MEASURED if setting.few else ARMS), ARMS, setting, setting.rounds)
    print({name: f"{statistics.median(values):.3g} s" for name, values in counted.items()}, file=sys.stderr)
    return {
        name: statistics.median(arm / trl for arm, trl in zip(values, counted[DENSE], strict=True))
        for name, values in counted.items()
    }


def highest(name: str, setting: Setting, base: Path) -> tuple[float, float]:
    """The peak memory of a step with and without weights and gradients, MiB; to be run in a process of its own."""
    trainer = trainers_of(setting, base, [name])[name]
    rollouts = batch(setting, trainer.accelerator.device)
    for parameter in trainer.model.parameters():
        parameter.grad = torch.zeros_like(parameter).add_(0 * parameter.detach())  # brings both into memory
    total, added = report.peak(lambda: step_of(trainer, rollouts, ARMS[name]), gpu=setting.gpu)
    return total / 2**20, added / 2**20


def memory(name: str, key: str, base: Path, apart: bool = False) -> tuple[float, float]:
    """:func:`highest` in a process of its own."""
    command = [sys.executable, __file__, "--memory-of", json.dumps([name, key, str(base), apart])]
    total, added = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-2:]
    return float(total), float(added)


def tied(key: str, base: Path) -> list[dict[str, str]]:
    """GRPO's step with the gradients of head and embeddings in one array, as here, and in two, as autograd has them."""
    setting = SETTINGS[key]
    trainer = trainers_of(setting, base, ["GRPO"])["GRPO"]
    rollouts = batch(setting, trainer.accelerator.device)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(setting.rounds + 1):
        for apart, times in seconds.items():
            with patch.object(packed_forward, "_tied", return_value=False) if apart else nullcontext():
                started = time.perf_counter()
                step_of(trainer, rollouts, ARMS["GRPO"])
                times.append(time.perf_counter() - started)
            trainer.model.zero_grad(set_to_none=True)
    rows = []
    for apart, times in seconds.items():
        ratio = statistics.median(a / b for a, b in zip(times[1:], seconds[False][1:], strict=True))
        total, added = memory("GRPO", key, base, apart)
        arrays = "two" if apart else "one"
        rows.append({"arrays": arrays, f"{key}: time": f"{ratio:.2f}", "MiB": f"{added:,.0f}; in all {total:,.0f}"})
    return rows


def profile(key: str, name: str, base: Path) -> list[dict[str, str]]:
    """Milliseconds of a step's parts; a part includes the parts that it calls."""
    setting = SETTINGS[key]
    trainer = trainers_of(setting, base, [name])[name]
    rollouts = batch(setting, trainer.accelerator.device)
    step_of(trainer, rollouts, ARMS[name])
    with cProfile.Profile() as profiler:
        for _ in range(setting.rounds):
            step_of(trainer, rollouts, ARMS[name])
    found = {function: used for (_, _, function), (*_, used, _) in pstats.Stats(profiler).stats.items()}  # type: ignore
    return [
        {"setting": key, "part": part, "ms": f"{1000 * found.get(part, 0.0) / setting.rounds:.1f}"} for part in PARTS
    ]


def columns(key: str, base: Path) -> dict[str, dict[str, str]]:
    """The table's columns for a setting: arm -> column -> figure."""
    setting = SETTINGS[key]
    times = ratios(setting, base)
    peaks = {name: memory(name, key, base) for name in setting.memory}
    cells = {name: {f"{key}: time": f"{times[name]:.2f}" if name in times else ""} for name in ARMS}
    for name in ARMS if peaks else ():
        total, added = peaks.get(name, (0.0, 0.0))
        text = f"{added:,.0f} ({added / peaks[DENSE][1]:.2f}); in all {total:,.0f}"
        cells[name][f"{key}: MiB"] = text if name in peaks else ""
    return cells


def main() -> None:
    """Compare the arms, or profile one, or measure a tied weight, at every setting that the options name."""
    parser = report.parser(__doc__)
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=["tiny", "tiny-half", "0.5b", "0.5b-bf16"])
    parser.add_argument("--profile", choices=ARMS, metavar="ARM", help="where this arm's time goes, and nothing else")
    parser.add_argument("--memory-of", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument(
        "--tied", action="store_true", help="the two ways to hold a tied weight's gradient, and nothing else"
    )
    options = report.parse(parser, settings=["quick"])
    torch.set_num_threads(1)
    if options.memory_of:
        name, key, base, apart = options.memory_of
        with patch.object(packed_forward, "_tied", return_value=False) if apart else nullcontext():
            print(*highest(name, SETTINGS[key], Path(base)))
        return
    parts: list[dict[str, str]] = []
    arms: dict[str, dict[str, str]] = {name: {} for name in ARMS}
    for key in options.settings:
        setting = SETTINGS[key]
        if setting.gpu != torch.cuda.is_available():
            sys.exit(f"--settings {key}: it is for a {'GPU' if setting.gpu else 'CPU'}, and this machine is another")
        with tempfile.TemporaryDirectory() as folder:
            checkpoint(setting, Path(folder))
            if options.tied:
                parts += tied(key, Path(folder))
                continue
            if options.profile:
                parts += profile(key, options.profile, Path(folder))
                continue
            for name, cells in columns(key, Path(folder)).items():
                arms[name] |= cells
    rows = parts or [{"step": name, **cells} for name, cells in arms.items() if any(cells.values())]
    report.append(rows, quick=options.quick)


if __name__ == "__main__":
    main()
