"""CPU seconds of a whole training by this tree and by that of another commit, and their ratio.

    python benchmarks/training.py                   # beside commit 9745d7d, GRPO and Random-10, 64 steps
    python benchmarks/training.py --world one-step --steps 4 --rounds 1   # SmolLM2-135M, and an evaluation of it
    python benchmarks/training.py --world one-step --evaluation           # the evaluation alone
    python benchmarks/training.py --against HEAD~1 --methods grpo --steps 16
    python benchmarks/training.py --quick           # one step of next to nothing, beside HEAD

A training runs mini-s with portable numerics on one thread: 32 prompts a step and 8 rollouts each, in one micro-batch.
It starts from the base model of mini's first seed, or from one pretrained for 600 steps. With `--world one-step` it
trains SmolLM2-135M after the supervised start of the study `smollm2-one-step`, by that study's recipe at a constant
learning rate, with `--numerics`. The other tree then has native ones, as it has no others at this size. Afterwards
both answer 40 test problems 8 times. The trees take turns, each job in a process of its own, with the same base and
problems. A figure is the median over rounds, and a ratio is taken within each round. The parts are wall seconds from
`timing.parquet`. The commit must be in this repository's history.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import report
import yaml

from ict_core.problems.mini.problems import training_problems
from ict_core.process.numerics import Portable
from ict_core.store import records
from ict_core.store.layout import StudyFiles

PARTS = ("rollout_s", "statistics_s", "update_s")


@contextmanager
def tree_of(commit: str, folder: Path) -> Iterator[Path]:
    """A worktree of a commit in a folder, which is removed at the end."""
    git = ["git", "-C", str(report.REPOSITORY), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def timed_study(
    folder: Path,
    stated: dict[str, Any],
    model: str,
    of: tuple[list[str], int, int],
    recipe: dict[str, Any],
    warmup: int,
) -> Path:
    """Write the study `timed` of a model's first seed, by a recipe with other sizes and at most `warmup` warm-up steps.

    ``of`` has the methods, the steps of a training and the prompts of a step.
    """
    methods, steps, prompts = of
    sizes = {"prompts_per_step": prompts, "micro_batch_sequences": 8 * prompts, "steps": steps}
    timed = recipe | sizes | {"lr_warmup_steps": min(warmup, steps - 1)}
    grid = [{"models": [model], "methods": methods, "seeds": [0]}]
    stated = {**stated, "study": "timed", "training": "timed", "grid": grid, "baselines": methods[:1]}
    for kind, content in (("training", timed), ("studies", stated)):
        (folder / f"configs/{kind}/timed.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    return folder / "configs/studies/timed.yaml"


def mini_study(folder: Path, of: tuple[list[str], int, int]) -> Path:
    """The study of mini-s by mini's recipe, both as the tree in `folder` has them, without gates on other arms."""
    text = (folder / "configs/studies/mini.yaml").read_text()
    stated = yaml.safe_load(text[: text.index("\ngrid:")]) | {"numerics": "portable"}
    stated["evidence"].pop("validity", None)
    recipe = yaml.safe_load((folder / "configs/training/mini.yaml").read_text())
    return timed_study(folder, stated, "mini-s", of, recipe, warmup=5)


def real_study(folder: Path, of: tuple[list[str], int, int], numerics: str) -> Path:
    """The study of SmolLM2-135M by `smollm2-one-step`'s recipe, without a key that not all trees since 9745d7d know."""
    stated = {
        **{"note": "Timed.", "scale": "mini", "numerics": numerics, "selection_warmup_steps": 0},
        **{"data": {"seed": 0, "train_sets": ["gsm8k-short-train"]}, "benchmarks": ["gsm8k-short"]},
        **{"grading": {"seconds": 5, "memory_mib": 1024}, "evidence": {"margin_points": 2.0, "power": 0.8}},
        "evaluation": {"engine": "vllm", "samples": 8, "temperature": 1.0, "top_p": 1.0, "max_new_tokens": 64}
        | {"threads": 1},
    }
    recipe = yaml.safe_load((report.REPOSITORY / "configs/training/smollm2-one-step.yaml").read_text())
    del recipe["lr_schedule"]
    return timed_study(folder, stated, "smollm2-135m", of, recipe, warmup=3)


def real_inputs(folder: Path) -> tuple[Path, Path, Path]:
    """The base model of `smollm2-one-step`, its training problems, and 40 of its test problems as `gsm8k-short`."""
    files = StudyFiles(Path("results/smollm2-one-step"))
    targets = files.base_model("smollm2-135m-one-step"), files.train_problems, files.eval_problems
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *map(str, targets), "--quiet", "all"]
    command += ["--configfile", "configs/studies/smollm2-one-step.yaml"]
    subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}, check=True)
    base, problems, held_out = (folder / path for path in targets)
    sample = records.read_frame(held_out, records.PROBLEMS).iloc[::5]
    records.write_frame(sample.assign(benchmark="gsm8k-short"), folder / "asked.parquet", records.PROBLEMS)
    return base, problems, folder / "asked.parquet"


def ran(tree: Path, stage: str, of: Path, method: str, arguments: dict[str, Path]) -> float:
    """CPU seconds, user and system, of one stage of seed 0 by the library of a tree."""
    command = [sys.executable, "-m", "ict_core", stage, "--study", str(of), "--variant", method, "--seed", "0"]
    command += [word for name, path in arguments.items() for word in (f"--{name}", str(path))]
    return report.cpu_seconds(command, tree, report.one_thread() | {"PYTHONPATH": str(tree)})[0]


def parts(out: Path) -> dict[str, float]:
    """Wall seconds of a training's parts."""
    timing = pd.read_parquet(out / "timing.parquet")
    return {part: float(timing[part].sum()) for part in PARTS}


def main() -> None:
    """Run both trees in turns, compare them, and append a table to the results."""
    parser = report.parser(__doc__)
    parser.add_argument("--against", default="9745d7d", metavar="COMMIT", help="(default: %(default)s)")
    parser.add_argument("--methods", nargs="+", default=["grpo", "random-10"])
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--prompts", type=int, help="a step (default: 32; of one-step 8)")
    parser.add_argument("--pretraining", type=int, default=600, help="steps, where no base model is stored")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--world", choices=["mini", "one-step"], default="mini")
    parser.add_argument("--numerics", choices=get_args(Portable), default="portable", help="of one-step, in this tree")
    parser.add_argument("--evaluation", action="store_true", help="of one-step, the evaluation and no training")
    quick = {"against": "HEAD", "methods": ["grpo"], "steps": 1, "prompts": 2, "pretraining": 1, "rounds": 1}
    options = report.parse(parser, **quick)
    real = options.world == "one-step"
    if options.evaluation and not real:
        parser.error("--evaluation: --world one-step alone has one")
    with tempfile.TemporaryDirectory() as temporary, tree_of(options.against, Path(temporary, "other")) as other:
        folder = Path(temporary)
        trees = {"today": folder / "this", options.against: other}
        report.copy_workflow(trees["today"])
        of = options.methods, options.steps, options.prompts or (8 if real else 32)
        if real:
            base, problems, asked = real_inputs(trees["today"])
            numerics = {"today": options.numerics, options.against: "native"}
            studies = {name: real_study(tree, of, numerics[name]) for name, tree in trees.items()}
        else:
            base, problems = report.mini_model(folder, options.pretraining), folder / "problems.parquet"
            records.write_frame(training_problems(0, 2000, set()), problems, records.PROBLEMS)
            studies = {name: mini_study(tree, of) for name, tree in trees.items()}
        model = {"model": Path("smollm2-135m" if real else "mini-s")}
        taken: dict[tuple[str, str], list[dict[str, float]]] = {}
        jobs = [*([] if options.evaluation else options.methods), *(["evaluation"] if real else [])]
        for job in jobs:
            for number in range(options.rounds):
                for name in sorted(trees, reverse=bool(number % 2)):
                    out = folder / f"out-{job}-{number}-{name}"
                    if job == "evaluation":
                        paths = {
                            "checkpoint": base,
                            "problems": asked,
                            "out": out,
                            "manifest": folder / "generated.json",
                        }
                        figures = {"CPU s": ran(trees[name], "generate", studies[name], "base", model | paths)}
                    else:
                        paths = {"base": base, "problems": problems, "out": out}
                        figures = {"CPU s": ran(trees[name], "train", studies[name], job, model | paths), **parts(out)}
                    taken.setdefault((job, name), []).append(figures)
    rows = []
    for (job, name), turns in taken.items():
        pairs = zip(turns, taken[job, options.against], strict=True)
        ratio = statistics.median(run["CPU s"] / reference["CPU s"] for run, reference in pairs)
        times = {
            part: f"{statistics.median(turn[part] for turn in turns):.1f}" if part in turns[0] else "—"
            for part in ("CPU s", *PARTS)
        }
        rows.append({"job": job, "tree": name, **times, "ratio": f"{ratio:.2f}"})
    report.append(rows, quick=options.quick)


if __name__ == "__main__":
    main()
