"""From scores to every table and figure at the size of the paper's grid: wall time and memory on two cores.

    python benchmarks/evidence_at_scale.py

makes the files of a synthetic study (100 trained cells and 3 base models, seven benchmarks with 9,000 problems, n = 16,
2 million sampled tokens) in a temporary folder, runs the workflow's evidence stages on them, and prints the time and
the largest memory that all processes held together.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

from ict_core import collect, records
from ict_core.seeding import generator

MODELS = ("qwen-0.5b", "qwen-1.5b", "qwen-7b")
METHODS = ("grpo", "entropy-20", "stapo", "ict-10", "random-10", "ict-20")
ABLATION = ("ict-5", "ict-30")  # of the middle model
SEEDS = range(5)
N = 16
BENCHMARKS = {
    "math-500": ("MATH-500", 500, 0.0),
    "gsm8k": ("GSM8K", 1319, 0.4),
    "mmlu-stem": ("MMLU-STEM", 6893, -0.2),
    "gpqa": ("GPQA", 198, -1.2),
    "aime-23": ("AIME 2023", 30, -2.5),
    "aime-24": ("AIME 2024", 30, -2.5),
    "aime-25": ("AIME 2025", 30, -2.5),
}
STEPS, SAMPLED_STEPS, ROLLOUTS, LENGTH = 200, (0, 60, 120, 180), 8, 625
REPOSITORY = Path(__file__).resolve().parents[1]


def trained_cells() -> list[tuple[str, str, int]]:
    """100 cells: three models with six methods, the middle one with two more, five seeds."""
    return [(m, v, s) for m in MODELS for v in (*METHODS, *(ABLATION if m == MODELS[1] else ())) for s in SEEDS]


def scores() -> pd.DataFrame:
    """`records.SCORES`: logit-normal difficulties, one random effect a run."""
    frames = []
    for model, variant, seed in [*((m, "base", 0) for m in MODELS), *trained_cells()]:
        rng = generator(seed, "scores", model, variant)
        shift = rng.normal(0, 0.08) + 0.5 * MODELS.index(model) + (0.5 if variant != "base" else 0.0)
        for name, (_, size, ease) in BENCHMARKS.items():
            difficulty = generator(0, "difficulty", name).normal(0, 1.4, size)
            correct = rng.binomial(N, 1 / (1 + np.exp(-(ease + shift + difficulty))))
            counts = {"sampled": N, "n": N, "correct": correct, "wrong": N - correct}
            problems = [f"{name}-{i:05d}" for i in range(size)]
            cell = {"model": model, "variant": variant, "seed": seed, "benchmark": name, "problem": problems}
            none = dict.fromkeys(("no_answer", "timeout", "memory", "error", "truncated"), 0)
            frames.append(pd.DataFrame({**cell, **counts, **none, "tokens": 400 * N}))
    return pd.concat(frames, ignore_index=True)


def log() -> pd.DataFrame:
    """`records.STUDY_LOG` of 200 steps a cell."""
    frames = []
    for model, variant, seed in trained_cells():
        rng = generator(seed, "log", model, variant)
        values = {name: rng.random(STEPS) for name, kind in records.LOG.items() if kind == "float"}
        cell = {"model": model, "variant": variant, "seed": seed, "step": range(STEPS), "selecting": True}
        frames.append(pd.DataFrame({**cell, **values, "tokens": 400_000}))
    return pd.concat(frames, ignore_index=True)


def tokens() -> pd.DataFrame:
    """`records.STUDY_TOKENS`: four samples of one group of eight rollouts a cell."""
    frames = []
    index = pd.MultiIndex.from_product(
        [SAMPLED_STEPS, [0], range(ROLLOUTS), range(LENGTH)], names=["step", "group", "rollout", "position"]
    )
    for model, variant, seed in trained_cells():
        rng = generator(seed, "tokens", model, variant)
        frame = index.to_frame(index=False)
        h1 = rng.exponential(0.4, len(frame))
        frame = frame.assign(model=model, variant=variant, seed=seed, selecting=True, token=1, h1=h1, h2=0.6 * h1)
        frame = frame.assign(
            logprob=-rng.exponential(0.4, len(frame)), js=rng.exponential(0.02, len(frame)).clip(max=0.69)
        )
        frames.append(frame.assign(advantage=rng.normal(size=len(frame)), kept=rng.random(len(frame)) < 0.1))
    return pd.concat(frames, ignore_index=True)


def compute() -> pd.DataFrame:
    """`records.COMPUTE`."""
    stages = [(m, "base", 0, s) for m in MODELS for s in ("pretrain", "generate")]
    stages += [(*cell, s) for cell in trained_cells() for s in ("train", "generate")]
    frame = pd.DataFrame(stages, columns=["model", "variant", "seed", "stage"])
    return frame.assign(tokens=10**8, seconds=3600.0, peak_memory_mib=30_000.0, peak_gpu_memory_mib=70_000.0)


def settings() -> dict[str, object]:
    """`study.json`, with the keys of the stored run of the study in miniature."""
    whole = json.loads((REPOSITORY / "results/reference/mini/study.json").read_text())
    any_model, any_method = next(iter(whole["models"].values())), whole["methods"]["ict-10"]
    return whole | {
        "study": "synthetic",
        "note": "Synthetic scores at the size of the paper's grid.",
        "models": dict.fromkeys(MODELS, any_model),
        "methods": dict.fromkeys((*METHODS, *ABLATION), any_method),
        "benchmarks": [{"name": n, "mirrors": p, "problems": s} for n, (p, s, _) in BENCHMARKS.items()],
        "grid": [
            {"models": MODELS, "methods": METHODS, "seeds": list(SEEDS)},
            {"models": MODELS[1:2], "methods": ABLATION, "seeds": list(SEEDS)},
        ],
    }


def write_study(folder: Path) -> int:
    """Write the study's files; returns the rows of its scores."""
    frame = scores()
    records.write_frame(frame, folder / collect.SCORES, records.SCORES)
    records.write_frame(log(), folder / collect.LOG, records.STUDY_LOG)
    records.write_frame(tokens(), folder / collect.TOKENS, records.STUDY_TOKENS)
    records.write_frame(compute(), folder / collect.COMPUTE, records.COMPUTE)
    (folder / "study.json").write_text(json.dumps(settings()))
    empty = {"environments": [], "sources": [], "trl": [], "jobs": []}
    (folder / collect.MANIFEST).write_text(json.dumps(empty))
    return len(frame)


def watched(command: list[str]) -> tuple[float, float]:
    """Run a command: seconds, and the largest memory of its processes together, GiB (proportional set size)."""
    peak, started = 0, time.perf_counter()
    process = psutil.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output: list[str] = []
    reader = threading.Thread(target=lambda: output.append(process.stdout.read()))
    reader.start()
    while process.poll() is None:
        held = 0
        for member in [process, *process.children(recursive=True)]:
            try:
                held += member.memory_full_info().pss
            except psutil.Error:  # it has just ended
                continue
        peak = max(peak, held)
        time.sleep(0.2)
    reader.join()
    if process.returncode:
        sys.exit("".join(output)[-4000:])
    return time.perf_counter() - started, peak / 2**30


def main() -> None:
    """Make the study, run the evidence, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a folder for the study and its pages, which then stays")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.keep or Path(temporary)).resolve()
        stored, results = folder / "stored", folder / "results"
        stored.mkdir(parents=True, exist_ok=True)
        rows = write_study(stored)
        command = ["snakemake", "--cores", str(options.cores), "--snakefile", "workflow/reference.smk", "--forceall"]
        seconds, memory = watched([*command, "--config", f"stored={stored}", f"results={results}"])
    print("| cells | rows of scores | cores | seconds | GiB |\n| --: | --: | --: | --: | --: |")
    print(f"| {len(trained_cells())} + {len(MODELS)} | {rows:,} | {options.cores} | {seconds:.1f} | {memory:.2f} |")


if __name__ == "__main__":
    main()
