"""CPU seconds of a whole training of the mini world, by this tree and by another commit's, and their ratio.

    python benchmarks/training.py                   # beside commit 9745d7d, GRPO and Random-10, 64 steps
    python benchmarks/training.py --against HEAD~1 --methods grpo --steps 16
    python benchmarks/training.py --quick           # one step of next to nothing, beside HEAD

A training is of mini-s, 32 prompts a step and 8 rollouts each in one micro-batch, with portable numerics on one thread,
from the base model of mini's first seed or one of 600 steps. The two trees take turns, each training in a process of
its own; the base and the problems are the same. A figure is the median over the rounds, a ratio that of one round; the
parts are wall seconds, as `timing.parquet` has them. The commit comes from this repository's history.
"""

import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import report

from ict_core.problems.mini import training_problems
from ict_core.store import records

PARTS = ("rollout_s", "statistics_s", "update_s")


@contextmanager
def tree_of(commit: str, folder: Path) -> Iterator[Path]:
    """The files of a commit."""
    git = ["git", "-C", str(report.REPOSITORY), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def study(folder: Path, methods: list[str], steps: int, prompts: int) -> Path:
    """A study of one model whose recipe is mini's with those steps and prompts."""
    configs = folder / "configs"
    text = (configs / "training/mini.yaml").read_text()
    size = {"prompts_per_step": prompts, "micro_batch_sequences": 8 * prompts}
    for key, value in {**size, "steps": steps, "lr_warmup_steps": min(5, steps - 1)}.items():
        text = re.sub(rf"^{key}: \d+", f"{key}: {value}", text, flags=re.MULTILINE)
    (configs / "training/timed.yaml").write_text(text)
    text = timed_study((configs / "studies/mini.yaml").read_text(), "mini-s", methods, 1)
    file = configs / "studies/timed.yaml"
    file.write_text("numerics: portable\n" + text.replace("training: mini\n", "training: timed\n", 1))
    return file


def timed_study(text: str, model: str, methods: list[str], seeds: int) -> str:
    """The file of a study as that of `timed`, with so many seeds of one model alone and without gates on other arms."""
    text = re.sub(r"^  validity:.*\n(?:    .*\n)*", "", text[: text.index("grid:")], flags=re.MULTILINE)
    text = re.sub(r"^study: .*$", "study: timed", text, count=1, flags=re.MULTILINE)
    grid = f"  - models: [{model}]\n    methods: [{', '.join(methods)}]\n    seeds: {list(range(seeds))}\n"
    return f"{text}grid:\n{grid}baselines: [{methods[0]}]\n"


def train(tree: Path, of: Path, method: str, base: Path, problems: Path, out: Path) -> dict[str, float]:
    """One training by that tree's library: CPU seconds, user and system, and wall seconds of its parts."""
    command = [sys.executable, "-m", "ict_core", "train", "--study", str(of), "--model", "mini-s", "--variant", method]
    command += ["--seed", "0", "--base", str(base), "--problems", str(problems), "--out", str(out)]
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | threads | {"PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{tree}: exit status {done.returncode}\n{done.stderr[-4000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    timing = pd.read_parquet(out / "timing.parquet")
    parts = {part: float(timing[part].sum()) for part in PARTS}
    return {"CPU s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, **parts}


def main() -> None:
    """Take turns, compare, and append a table to the results."""
    parser = report.parser(__doc__)
    parser.add_argument("--against", default="9745d7d", metavar="COMMIT", help="(default: %(default)s)")
    parser.add_argument("--methods", nargs="+", default=["grpo", "random-10"])
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--prompts", type=int, default=32, help="a step (default: %(default)s)")
    parser.add_argument("--pretraining", type=int, default=600, help="steps, where no base model is stored")
    parser.add_argument("--rounds", type=int, default=3)
    quick = {"against": "HEAD", "methods": ["grpo"], "steps": 1, "prompts": 2, "pretraining": 1, "rounds": 1}
    options = report.parse(parser, **quick)
    rows = []
    with tempfile.TemporaryDirectory() as temporary, tree_of(options.against, Path(temporary, "other")) as other:
        folder = Path(temporary)
        report.copy_workflow(folder / "this")
        base, problems = report.mini_model(folder, options.pretraining), folder / "problems.parquet"
        records.write_frame(training_problems(0, 2000, set()), problems, records.PROBLEMS)
        trees = {"today": folder / "this", options.against: other}
        studies = {name: study(tree, options.methods, options.steps, options.prompts) for name, tree in trees.items()}
        for method in options.methods:
            taken: dict[str, list[dict[str, float]]] = {name: [] for name in trees}
            for number in range(options.rounds):
                for name in sorted(trees, reverse=bool(number % 2)):
                    out = folder / f"out-{method}-{number}-{name}"
                    taken[name].append(train(trees[name], studies[name], method, base, problems, out))
            for name, of in taken.items():
                times = {part: f"{statistics.median(turn[part] for turn in of):.1f}" for part in ("CPU s", *PARTS)}
                pairs = zip(of, taken[options.against], strict=True)
                ratio = statistics.median(own["CPU s"] / before["CPU s"] for own, before in pairs)
                rows.append({"training": method, "tree": name, **times, "ratio": f"{ratio:.2f}"})
    report.append(rows, quick=options.quick)


if __name__ == "__main__":
    main()
