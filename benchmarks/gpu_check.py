"""Checks on a GPU the parts of the harness that need one, in stages of at most eight minutes.

    python benchmarks/gpu_check.py                          # all stages; the page is results/gpu-check/page.md
    python benchmarks/gpu_check.py --stages repeat step     # some of them; the page keeps what others have left
    python benchmarks/gpu_check.py --quick                  # dry: the same stages on the CPU, of next to nothing

`devices`, `step`, `packing` and `repeat` need torch, transformers and TRL. They need no vLLM and no network, as their
models have random weights. `rollouts` needs vLLM (`make env LOCK=gpu`), `ranks` needs two GPUs, and `study` needs the
hub. A stage that cannot run says why.
"""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import report

LIMIT = 480  # seconds a stage may take
PAGE = report.REPOSITORY / "results/gpu-check"
ROLLOUTS = {"engine": "vllm-colocate", "memory_share": 0.3, "sleep": False, "probe_bound": 0.05,
            "correction": {"mode": "token_mask", "clip_min": 0.5, "clip_max": 2.0}}  # fmt: skip
STUDY = "configs/studies/gpu-smoke.yaml"
_MODEL = report.REPOSITORY / "configs/models/qwen2.5-0.5b.yaml"


class NotRun(Exception):
    """Why a stage cannot run here."""


class Figure(NamedTuple):
    """A measured value, and its upper bound, if it has one."""

    what: str
    value: float
    unit: str
    most: float | None = None


def devices(dry: bool) -> Iterator[Figure]:
    """How far token statistics and every rule's weights differ between the CPU and the GPU."""
    import torch

    from ict_core import Rule, TokenBatch
    from ict_core.config.load import load_study
    from ict_core.selection.base import distinct_rules
    from ict_core.store.token_scores import GROUP_SCORES, UNSAMPLED_SCORES
    from ict_core.tokens.streaming import Head, token_statistics

    device = "cpu" if dry else "cuda"
    rows, length, width, vocabulary = (16, 6, 32, 352) if dry else (64, 48, 896, 151_936)
    draw = torch.Generator().manual_seed(0)
    states = torch.randn(rows * length, width, generator=draw)
    weight = torch.randn(vocabulary, width, generator=draw) * width**-0.5
    mask = torch.arange(length) < torch.randint(2, length + 1, (rows, 1), generator=draw)
    where = torch.arange(rows * length).view(rows, length).masked_fill(~mask, -1)
    ids = torch.randint(vocabulary, (rows, length), generator=draw)

    def statistics(at: str, dtype: Any) -> Any:
        head = Head(weight.to(at, dtype))
        names = (*GROUP_SCORES, *UNSAMPLED_SCORES)
        options: dict[str, Any] = {"group_size": 8, "temperature": 1.0, "scores": names}
        return token_statistics(states.to(at, dtype), head, where.to(at), ids.to(at), **options)

    expected = statistics("cpu", torch.float32)
    for dtype in (torch.float32, torch.bfloat16):
        on_cpu = expected if dtype == torch.float32 else statistics("cpu", dtype)
        on_device = statistics(device, dtype)
        errors = (on_cpu.values - on_device.values.cpu()).abs() / on_cpu.values.abs().clamp(min=1)
        errors = errors.flatten(1).amax(1)
        bound = 1e-3 if dtype == torch.float32 else None
        name = on_cpu.names[int(errors.argmax())]
        yield Figure(
            f"statistics, {str(dtype).removeprefix('torch.')}: furthest ({name})", float(errors.max()), "", bound
        )

    advantages = torch.randn(rows, generator=draw)
    decisions = mask & (torch.rand(rows, length, generator=draw) < 0.3)
    names = ("mini", "rules-rates", "readings")
    studies = [load_study(report.REPOSITORY / f"configs/studies/{name}.yaml") for name in names]
    rules: list[Rule] = distinct_rules({name: m for study in studies for name, m in study.methods.items()})
    differ = 0
    batch = TokenBatch(expected, advantages, mask, ids, decisions=decisions)
    other = TokenBatch(
        replace(expected, values=expected.values.to(device)),
        advantages.to(device), mask.to(device), ids.to(device), decisions=decisions.to(device),
    )  # fmt: skip
    for rule in rules:
        first, second = rule.weights(batch, 1).double(), rule.weights(other, 1).double().cpu()
        differ += int((first - second).abs().gt(1e-4).sum())
    share = 100 * differ / (len(rules) * int(mask.sum()))
    yield Figure(f"weights that differ, of {len(rules)} rules on the same statistics", share, "%", 0.01)


def _shapes(dry: bool) -> list[str]:
    """Keys of `training_step.SETTINGS`; the step of the last one is as long as in a real training."""
    return ["quick"] if dry else ["gpu-0.5b", "gpu-0.5b-32"]


def step(dry: bool) -> Iterator[Figure]:
    """A training step relative to TRL's: time, and memory beyond weights and gradients."""
    import training_step as bench

    bound = None if dry else 1.0
    for key in _shapes(dry):
        setting, time_bound = bench.SETTINGS[key], bound if key == _shapes(dry)[-1] else None
        size = f"{setting.groups * bench.GROUP} rollouts"
        with tempfile.TemporaryDirectory() as folder:
            bench.checkpoint(setting, Path(folder))
            for arm, ratio in bench.ratios(setting, Path(folder)).items():
                if arm != bench.DENSE:
                    yield Figure(f"{arm}, {size}: time of a step by that of TRL's", ratio, "", time_bound)
            dense, sparse = (bench.memory(arm, key, Path(folder))[1] for arm in (bench.DENSE, "ICT-10"))
        yield Figure(f"ICT-10, {size}: memory of a step by that of TRL's", sparse / dense, "", bound)


def packing(dry: bool) -> Iterator[Figure]:
    """The cost of the layout of packed passes, which is computed on the CPU."""
    import torch
    import training_step as bench

    from ict_core.training.fast import passes

    setting = bench.SETTINGS[_shapes(dry)[-1]]
    seconds: list[float] = []
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    laid_out = passes.pack

    def timed(*args: Any, **kwargs: Any) -> Any:
        wait()
        started = time.perf_counter()
        layout = laid_out(*args, **kwargs)
        wait()
        seconds.append(time.perf_counter() - started)
        return layout

    with tempfile.TemporaryDirectory() as folder:
        bench.checkpoint(setting, Path(folder))
        trainer = bench.trainer_of(setting, Path(folder), "packed")
        rollouts = bench.batch(setting, trainer.accelerator.device)
        bench.step_of(trainer, rollouts, "grpo")
        passes.pack = timed
        started = time.perf_counter()
        for _ in range(setting.rounds):
            bench.step_of(trainer, rollouts, "grpo")
        total = time.perf_counter() - started
        passes.pack = laid_out
    yield Figure("layouts a step", len(seconds) / setting.rounds, "")
    yield Figure("one layout", 1000 * sum(seconds) / len(seconds), "ms")
    yield Figure("share of GRPO's step", 100 * sum(seconds) / total, "%", None if dry else 10.0)


def repeat(dry: bool) -> Iterator[Figure]:
    """Whether two trainings of one seed give the same bytes of weights and log."""
    yield from _repeated(dry, {})


def rollouts(dry: bool) -> Iterator[Figure]:
    """With rollouts by vLLM: whether its weights are the trainer's after each step, and two runs give equal bytes."""
    if find_spec("vllm") is None:
        raise NotRun("vLLM is not installed here: make env LOCK=gpu")
    yield from _repeated(dry, {"rollouts": ROLLOUTS})


def _repeated(dry: bool, recipe: dict[str, Any], ranks: int = 1) -> Iterator[Figure]:
    kinds = ["native", "deterministic"]
    if dry:  # only one of them, as vLLM's batch invariance needs a GPU
        kinds.remove("deterministic" if recipe else "native")
    with _models(dry) as base:
        for numerics in kinds:
            trainings = []
            for i in range(2):
                trainings.append(_train(base, base.parent / f"{numerics}-{i}", numerics, recipe, ranks))
                print(f"{numerics}, training {i + 1}: {trainings[-1]['seconds']:.0f} s", file=sys.stderr, flush=True)
            same = trainings[0]["bytes"] == trainings[1]["bytes"]
            yield Figure(f"{numerics}: runs that differ", float(not same), "", None if numerics == "native" else 0.0)
            yield Figure(f"{numerics}: a training of {trainings[0]['steps']} steps", trainings[1]["seconds"], "s")
            for column in ("probe_difference", "sampler_difference", "corrected_share"):
                if column in trainings[0]:
                    yield Figure(f"{numerics}: {column}", trainings[0][column], "", 0.05 if "probe" in column else None)


def ranks(dry: bool) -> Iterator[Figure]:
    """The same for a training in two processes, one per GPU."""
    import torch

    if not dry and torch.cuda.device_count() < 2:
        raise NotRun(f"{torch.cuda.device_count()} GPU here, two are needed")
    yield from _repeated(dry, {}, ranks=2)


def study(dry: bool) -> Iterator[Figure]:
    """A study of two steps with a real model, from the hub to its report, through the workflow."""
    run = ["snakemake", "--cores", "all", "--configfile", STUDY]
    started = time.perf_counter()
    if dry:
        planned = _ended([*run, "--dry-run"])
        yield Figure("jobs in its plan", (planned.stdout + planned.stderr).count("\nrule "), "")
        return
    try:
        _ended([*run, "prefetch"])
    except RuntimeError as error:
        raise NotRun(f"the model cannot be fetched: {str(error).splitlines()[-1]}") from error
    _ended([*run, "--resources", "gpu=1"])
    yield Figure("the whole study", time.perf_counter() - started, "s")


STAGES: dict[str, Callable[[bool], Iterator[Figure]]] = {
    stage.__name__: stage for stage in (devices, step, packing, repeat, rollouts, ranks, study)
}


@contextmanager
def _models(dry: bool) -> Iterator[Path]:
    """A checkpoint of random weights in a temporary folder, with an untied head, as vLLM needs it on a CPU."""
    from ict_core.config.inputs import Architecture
    from ict_core.config.load import load_model
    from ict_core.problems.mini.tokenizer import train_tokenizer
    from ict_core.training.pretrain import build_model, save_checkpoint

    sizes = {"hidden_size": 64, "layers": 2, "heads": 2, "kv_heads": 2, "intermediate_size": 128, "max_positions": 256}
    shape = load_model(_MODEL).architecture.model_dump()
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = train_tokenizer(352)
        architecture = Architecture(**{**(sizes if dry else shape), "vocab_size": 352})
        model = build_model(architecture, tokenizer, seed=0)
        model.config.tie_word_embeddings = False
        untied = type(model)(model.config)
        untied.load_state_dict({**model.state_dict(), "lm_head.weight": model.model.embed_tokens.weight.clone()})
        save_checkpoint(untied, tokenizer, Path(folder) / "base")
        yield Path(folder) / "base"


def _train(base: Path, out: Path, numerics: str, recipe: dict[str, Any], ranks: int) -> dict[str, Any]:
    """The figures of a training in a process of its own, or in one process per rank."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks)] if ranks > 1 else []
    arguments = json.dumps({"base": str(base), "out": str(out), "numerics": numerics, "recipe": recipe})
    _ended([sys.executable, *launcher, __file__, "--train", arguments])
    return json.loads(out.with_suffix(".json").read_text())


def train(base: str, out: str, numerics: Any, recipe: dict[str, Any]) -> None:
    """Train for a few steps, and write the figures to a file beside the training's folder."""
    from ict_core.process.numerics import use

    use(numerics)
    import pandas as pd
    import torch

    from ict_core.config.load import load_model, load_study
    from ict_core.config.methods import Training
    from ict_core.problems.mini.problems import training_problems
    from ict_core.training.run import TrainingRun, train_run

    mini = load_study(report.REPOSITORY / "configs/studies/mini.yaml")
    gpu = torch.cuda.is_available()
    training = Training(**{
        **mini.training.model_dump(),
        **{"prompts_per_step": 4, "group_size": 8, "micro_batch_sequences": 8, "steps": 4 if gpu else 2, "threads": 1},
        **{"max_new_tokens": 64 if gpu else 12, "precision": "bfloat16" if gpu else "float32", "lr_warmup_steps": 0},
        **{"learning_rate": 1e-5 if gpu else 1e-3, "token_sample_every": 1, "checkpoint_every": None},
        **recipe,
    })  # fmt: skip
    model = load_model(_MODEL) if gpu else mini.models["mini-s"]
    method = mini.methods["ict-10"].model_copy(update={"warmup_steps": 0, "random_reward": 0.5})
    run = TrainingRun(Path(base), training_problems(0, 64, set()), model, training, method, seed=0)
    resolved = {
        "model": {"name": "random", "kind": "local", "path": base},
        "method": {"name": "ict-10", **method.settings()},
        "training": training.dump(),
        "data": {"seed": 0},
        "seed": 0,
        "numerics": numerics,
    }
    started = time.perf_counter()
    train_run(run, {"seconds": 5.0, "memory_mib": 1024}, resolved, Path(out))
    if os.environ.get("RANK", "0") != "0":
        return
    log = pd.read_parquet(Path(out) / "log.parquet")
    digest = hashlib.sha256((Path(out) / "model/model.safetensors").read_bytes())
    digest.update(log.to_csv().encode())
    summary = {"bytes": digest.hexdigest(), "steps": len(log), "seconds": time.perf_counter() - started}
    means = log.select_dtypes("number").mean()
    summary |= {str(name): float(mean) for name, mean in means.items() if pd.notna(mean) and name not in summary}
    Path(out).with_suffix(".json").write_text(json.dumps(summary))


def _ended(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command; a RuntimeError with the end of its output if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=report.REPOSITORY)
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(command[:4])}: exit status {done.returncode}\n{(done.stdout + done.stderr)[-3000:]}"
        )
    return done


def run_stage(name: str, dry: bool) -> list[dict[str, str]]:
    """The rows of one stage, which runs in a process of its own; a single row if it could not run or failed."""
    command = [sys.executable, __file__, "--stage", name, *(["--quick"] if dry else [])]
    started = time.perf_counter()
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as stage:
            try:
                printed, _ = stage.communicate(timeout=LIMIT)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(stage.pid, signal.SIGKILL)  # and what it has started
        data = json.loads(printed.splitlines()[-1]) if stage.returncode == 0 else f"failed: status {stage.returncode}"
    except subprocess.TimeoutExpired:
        data = f"failed: not done within {LIMIT} s"
    print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    figures = [Figure(*figure) for figure in data] if isinstance(data, list) else []
    rows = [
        {
            "stage": name,
            "figure": figure.what,
            "value": f"{figure.value:.3g} {figure.unit}".strip(),
            "allowed": "" if figure.most is None else f"at most {figure.most:g}",
            "verdict": "" if figure.most is None else "kept" if figure.value <= figure.most else "**broken**",
        }
        for figure in figures
    ]
    return rows or [{"stage": name, "figure": "", "value": "", "allowed": "", "verdict": data}]


def write_page(folder: Path) -> None:
    """Write the page of all stages whose figures are stored in a folder."""
    stored = {name: json.loads(file.read_text()) for name in STAGES if (file := folder / f"{name}.json").exists()}
    rows = [row for each in stored.values() for row in each["rows"]]
    machines = dict.fromkeys(each["on"] for each in stored.values())
    (folder / "page.md").write_text("\n".join(["# GPU check", "", *machines, "", *report.show(rows), ""]))


def main() -> None:
    """Run the requested stages, each in a process of its own, and write the page."""
    parser = report.parser(__doc__)
    parser.add_argument(
        "--stages", nargs="+", choices=STAGES, default=[*STAGES], metavar="STAGE", help=", ".join(STAGES)
    )
    parser.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--train", type=json.loads, help=argparse.SUPPRESS)
    options = report.parse(parser)
    if options.train:
        train(**options.train)
        return
    import torch

    if not options.quick and not torch.cuda.is_available():
        sys.exit(f"torch {torch.__version__} sees no GPU here; `--quick` runs the stages dry, on the CPU")
    if options.stage:
        try:
            print(json.dumps([*STAGES[options.stage](options.quick)]))
        except NotRun as why:
            print(json.dumps(f"not run: {why}"))
        return
    rows = [row for name in options.stages for row in run_stage(name, options.quick)]
    if not options.quick:
        PAGE.mkdir(parents=True, exist_ok=True)
        for name in options.stages:
            of_stage = [row for row in rows if row["stage"] == name]
            (PAGE / f"{name}.json").write_text(json.dumps({"rows": of_stage, "on": report.on()}, indent=1))
        write_page(PAGE)
    else:
        report.show(rows)
    if any("broken" in row["verdict"] or "failed" in row["verdict"] for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
