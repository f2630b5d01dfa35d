"""Cost of portable numerics: the jobs of one cell with portable and with native numerics.

    python benchmarks/numerics.py          # mini-s: pretraining cut to 200 steps, a training, its generation
    python benchmarks/numerics.py --quick  # the pretraining alone

Every job runs as its own command on one thread, portable and native in turns. A figure is the median over rounds of the
CPU seconds (user and system, start-up included), and of their ratio within a round.
"""

import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import report

KINDS = ("portable", "native")
JOBS = ("pretrain", "train", "generate")
CELL = ("--variant", "ict-10", "--seed", "0")


def cpu_seconds(folder: Path, kind: str, *arguments: str | Path) -> float:
    """User and system seconds of one `ict` job of the study `kind`."""
    command = [sys.executable, "-m", "ict_core", *arguments, "--study", folder / f"configs/studies/{kind}.yaml"]
    return report.cpu_seconds(command, folder, report.one_thread())[0]


def studies(folder: Path, study: str, model: str, steps: int | None) -> None:
    """Copy a study once for each kind of numerics, with `steps` pretraining steps, or its own number if None."""
    shutil.copytree(report.REPOSITORY / "configs", folder / "configs")
    text = (report.REPOSITORY / f"configs/studies/{study}.yaml").read_text()
    for kind in KINDS:
        copy = re.sub(rf"^study: {study}$", f"study: {kind}\nnumerics: {kind}", text, flags=re.MULTILINE)
        (folder / f"configs/studies/{kind}.yaml").write_text(copy)
    if steps is not None:
        file = folder / f"configs/models/{model}.yaml"
        file.write_text(re.sub(r"^  steps: \d+", f"  steps: {steps}", file.read_text(), flags=re.MULTILINE))


def round_of(folder: Path, model: str, number: int, jobs: Sequence[str]) -> dict[str, dict[str, float]]:
    """CPU seconds of `jobs`, which are the first ones of a cell, by name and kind of numerics."""
    train, held_out = folder / "train.parquet", folder / "eval.parquet"
    if not train.exists():
        cpu_seconds(folder, "portable", "data", "--train", train, "--eval", held_out)
    seconds: dict[str, dict[str, float]] = {job: {} for job in jobs}
    for kind in KINDS if number % 2 else KINDS[::-1]:
        out = folder / f"{kind}-{number}"
        base, trained = out / "base", out / "train"
        sampled = ("--out", out / "completions.parquet", "--manifest", out / "generation.json")
        options = {
            "pretrain": ("--eval", held_out, "--out", base),
            "train": (*CELL, "--base", base, "--problems", train, "--out", trained),
            "generate": (*CELL, "--checkpoint", trained / "model", "--problems", held_out, *sampled),
        }
        for job in jobs:
            seconds[job][kind] = cpu_seconds(folder, kind, job, "--model", model, *options[job])
    return seconds


def main() -> None:
    """Run the rounds and print the table."""
    parser = report.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=len(JOBS), help="the first so many of pretrain, train, generate")
    options = report.parse(parser, rounds=1, jobs=1)
    study, model, steps = ("smoke", "mini-xs", 20) if options.quick else ("mini", "mini-s", 200)
    with tempfile.TemporaryDirectory() as temporary:
        studies(Path(temporary), study, model, steps)
        rounds = [round_of(Path(temporary), model, number, JOBS[: options.jobs]) for number in range(options.rounds)]
    rows = []
    for job in rounds[0]:
        portable, native = (statistics.median(r[job][kind] for r in rounds) for kind in KINDS)
        ratio = statistics.median(r[job]["portable"] / r[job]["native"] for r in rounds)
        rows.append(
            {"job": job, "portable, CPU s": f"{portable:.1f}", "native": f"{native:.1f}", "ratio": f"{ratio:.2f}"}
        )
    report.append(rows, quick=options.quick)


if __name__ == "__main__":
    main()
