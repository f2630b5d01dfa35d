"""From scores to every table and figure at the size of the paper's grid: wall time and memory on two cores.

    python benchmarks/evidence_at_scale.py
    python benchmarks/evidence_at_scale.py --quick      # a hundredth of the problems, two seeds, tables only

makes the files of a synthetic study (100 trained cells and 3 base models, seven benchmarks with 9,000 problems, n = 16,
2 million sampled tokens) in a temporary folder, runs the workflow's evidence stages on them, and prints the time and
the largest memory that all processes held together.
"""

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import psutil
import report

from ict_core.seeding import generator
from ict_core.store import GROUP_SCORES, MANIFEST, StudyFiles, read_manifest, records, write_manifest

MODELS = ("qwen-0.5b", "qwen-1.5b", "qwen-7b")
METHODS = ("grpo", "entropy-20", "stapo", "ict-10", "random-10", "ict-20")
ABLATION = ("ict-5", "ict-30")  # of the middle model
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
REFERENCE = REPOSITORY / "results/reference/mini-ablations"  # a finished run, of the same variants


class Size(NamedTuple):
    """The seeds of each arm, and the share of the problems and of the sampled tokens that there are."""

    seeds: int
    share: float

    def cells(self) -> list[tuple[str, str, int]]:
        """The trained ones, 20 a seed: three models with six methods, the middle one with two more."""
        arms = [(m, v) for m in MODELS for v in (*METHODS, *(ABLATION if m == MODELS[1] else ()))]
        return [(*arm, seed) for arm in arms for seed in range(self.seeds)]

    def problems(self) -> dict[str, int]:
        """Of each benchmark."""
        return {name: self.of(problems) for name, (_, problems, _) in BENCHMARKS.items()}

    def of(self, number: int) -> int:
        """The share of a number, at least 2."""
        return max(2, round(self.share * number))


def scores(size: Size) -> pd.DataFrame:
    """`records.SCORES`: logit-normal difficulties, one random effect a run."""
    frames = []
    for model, variant, seed in [*((m, "base", 0) for m in MODELS), *size.cells()]:
        rng = generator(seed, "scores", model, variant)
        shift = rng.normal(0, 0.08) + 0.5 * MODELS.index(model) + (0.5 if variant != "base" else 0.0)
        for name, problems in size.problems().items():
            ease = BENCHMARKS[name][2]
            difficulty = generator(0, "difficulty", name).normal(0, 1.4, problems)
            correct = rng.binomial(N, 1 / (1 + np.exp(-(ease + shift + difficulty))))
            counts = {"sampled": N, "n": N, "correct": correct, "wrong": N - correct}
            cell = {"model": model, "variant": variant, "seed": seed, "benchmark": name}
            cell["problem"] = [f"{name}-{i:05d}" for i in range(problems)]
            none = dict.fromkeys(("no_answer", "timeout", "memory", "error", "truncated"), 0)
            frames.append(pd.DataFrame({**cell, **counts, **none, "tokens": 400 * N}))
    return pd.concat(frames, ignore_index=True)


def log(size: Size) -> pd.DataFrame:
    """`records.STUDY_LOG` of 200 steps a cell."""
    frames = []
    for model, variant, seed in size.cells():
        rng = generator(seed, "log", model, variant)
        values = {name: rng.random(STEPS) for name, kind in records.LOG.items() if kind == "float"}
        cell = {"model": model, "variant": variant, "seed": seed, "step": range(STEPS), "selecting": True}
        frames.append(pd.DataFrame({**cell, **values, "tokens": 400_000}))
    return pd.concat(frames, ignore_index=True)


def tokens(size: Size) -> pd.DataFrame:
    """`records.STUDY_TOKENS`: four samples of one group of eight rollouts a cell."""
    frames = []
    index = pd.MultiIndex.from_product(
        [SAMPLED_STEPS, [0], range(ROLLOUTS), range(size.of(LENGTH))], names=["step", "group", "rollout", "position"]
    )
    for model, variant, seed in size.cells():
        rng = generator(seed, "tokens", model, variant)
        frame = index.to_frame(index=False)
        frame = frame.assign(model=model, variant=variant, seed=seed, selecting=True, token=1)
        h1, p = rng.exponential(0.4, len(frame)), rng.beta(2, 1, len(frame))
        frame = frame.assign(h1=h1, h2=0.6 * h1, logprob=np.log(p), fork=(rng.random(len(frame)) < 0.1).astype(float))
        frame = frame.assign(**{name: rng.exponential(0.02, len(frame)) for name in GROUP_SCORES})
        frame = frame.assign(advantage=rng.normal(size=len(frame)), kept=rng.random(len(frame)) < 0.1)
        moved = {f"{name}_after": frame[name] * rng.uniform(0.9, 1.1, len(frame)) for name in ("logprob", "h1", "h2")}
        frames.append(frame.assign(**moved))
    return pd.concat(frames, ignore_index=True)


def of_every_cell(size: Size, name: str, columns: dict[str, str]) -> pd.DataFrame:
    """A stored frame of `mini-s`, given to every cell of the same variant."""
    stored = records.read_frame(REFERENCE / name, columns)
    stored = stored[(stored["model"] == "mini-s") & (stored["seed"] == 0)]
    frames = [stored[stored["variant"] == v].assign(model=m, seed=s) for m, v, s in size.cells()]
    return pd.concat(frames, ignore_index=True)


def contamination(size: Size) -> pd.DataFrame:
    """`records.CONTAMINATION`: nothing found."""
    found = pd.DataFrame(list(size.problems().items()), columns=["benchmark", "problems"])
    return found.assign(**{name: 0 for name in records.CONTAMINATION if name not in found} | {"training": 7000})


def compute(size: Size) -> pd.DataFrame:
    """`records.COMPUTE`."""
    stages = [(m, "base", 0, s) for m in MODELS for s in ("pretrain", "generate")]
    stages += [(*cell, s) for cell in size.cells() for s in ("train", "generate")]
    frame = pd.DataFrame(stages, columns=["model", "variant", "seed", "stage"])
    return frame.assign(tokens=10**8, seconds=3600.0, peak_memory_mib=30_000.0, peak_gpu_memory_mib=70_000.0)


def settings(size: Size) -> dict[str, object]:
    """`study.json`, with the keys and the methods of the stored run of the study in miniature."""
    whole = read_manifest(StudyFiles(REFERENCE).settings)
    any_model = next(iter(whole["models"].values()))
    return whole | {
        "study": "synthetic",
        "note": "Synthetic scores at the size of the paper's grid.",
        "models": dict.fromkeys(MODELS, any_model),
        "evaluation": whole["evaluation"] | {"samples": N},
        "benchmarks": [{"name": n, "mirrors": BENCHMARKS[n][0], "problems": s} for n, s in size.problems().items()],
        "grid": [
            {"models": MODELS, "methods": METHODS, "seeds": [*range(size.seeds)]},
            {"models": MODELS[1:2], "methods": ABLATION, "seeds": [*range(size.seeds)]},
        ],
        "shown": METHODS,
        "seeds_per_base": None,
        "tuning": None,
    }


def write_study(folder: Path, size: Size) -> int:
    """Write the study's files; returns the rows of its scores."""
    frame = scores(size)
    records.write_frame(frame, StudyFiles(folder).frame("scores"), records.SCORES)
    records.write_frame(log(size), StudyFiles(folder).frame("log"), records.STUDY_LOG)
    records.write_frame(tokens(size), StudyFiles(folder).frame("tokens"), records.STUDY_TOKENS)
    records.write_frame(compute(size), StudyFiles(folder).frame("compute"), records.COMPUTE)
    records.write_frame(contamination(size), folder / "contamination.parquet", records.CONTAMINATION)
    for name, columns in (("shadow", records.STUDY_SHADOW), ("overlap", records.STUDY_OVERLAP)):
        records.write_frame(of_every_cell(size, f"{name}.parquet", columns), folder / f"{name}.parquet", columns)
    empty = {"near_duplicates": records.NEAR_DUPLICATES, "tuning": records.TUNING, "shared_rate_scores": records.SCORES}
    for name, columns in empty.items():
        records.write_frame(pd.DataFrame(columns=[*columns]), StudyFiles(folder).frame(name), columns)
    write_manifest(StudyFiles(folder).settings, settings(size))
    write_manifest(folder / MANIFEST, read_manifest(REFERENCE / MANIFEST))
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
    """Make the study, run the evidence, print and keep the figures."""
    parser = report.parser(__doc__)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a folder for the study and its pages, which then stays")
    parser.add_argument("--seeds", type=int, default=5, help="of each arm")
    parser.add_argument("--share", type=float, default=1.0, help="of the problems and sampled tokens")
    parser.add_argument("--target", default="all", help="of workflow/reference.smk (default: %(default)s)")
    options = report.parse(parser, seeds=2, share=0.01, target="tables")
    size = Size(options.seeds, options.share)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.keep or Path(temporary)).resolve()
        stored, results = folder / "stored", folder / "results"
        stored.mkdir(parents=True, exist_ok=True)
        rows = write_study(stored, size)
        command = ["snakemake", options.target, "--cores", str(options.cores), "--snakefile", "workflow/reference.smk"]
        seconds, memory = watched([*command, "--forceall", "--config", f"stored={stored}", f"results={results}"])
    row = {
        "cells": f"{len(size.cells())} + {len(MODELS)}",
        "rows of scores": f"{rows:,}",
        "cores": f"{options.cores}",
    }
    report.append([row | {"seconds": f"{seconds:.1f}", "GiB": f"{memory:.2f}"}], quick=options.quick)


if __name__ == "__main__":
    main()
