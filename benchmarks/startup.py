"""What each `ict` command imports before it does its own work, and how long its start takes.

    python benchmarks/startup.py
    python benchmarks/startup.py --quick        # of two commands, and the training

Each command runs with ``--help`` (the parser alone) and, where its work needs an input, with inputs that are not there,
so that it ends where its work would begin. A training, whose imports go on until the trainer is built, runs three steps
of a model that was pretrained for one: its start and end are what it took beside the steps that its log times.
"""

import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import report

REPOSITORY = Path(__file__).resolve().parents[1]
STUDY = "--study configs/studies/smoke.yaml"
CELL = "--model mini-xs --variant ict-10 --seed 0"
COMMANDS = {  # without its inputs; None where it has none, or asks for more than files
    "check": f"{STUDY} --files",
    "cells": None,
    "data": None,
    "contamination": f"{STUDY} --train x --eval x --counts x --pairs x",
    "pretrain": f"{STUDY} --model mini-xs --eval x --out x",
    "solutions": f"{STUDY} --out x",
    "supervised-start": f"{STUDY} --model mini-xs --checkpoint x --solutions x --out x",
    "within-reach": f"{STUDY} --model mini-xs --checkpoint x --problems x --cache x --out x",
    "fetch-model": None,
    "train": f"{STUDY} {CELL} --base x --problems x --out x",
    "tune": f"{STUDY} --model mini-xs --variant grpo --results x --out x",
    "rates": f"{STUDY} --results x",
    "generate": f"{STUDY} {CELL} --checkpoint x --problems x --out x --manifest x",
    "grade": f"{STUDY} --completions x --problems x --out x --manifest x",
    "settings": f"{STUDY} --out {{temporary}}/study.json",
    "collect": f"{STUDY} --results x",
    "rollouts": f"{STUDY} --model mini-xs --checkpoint x --problems x --cache x --out x",
    "read-tokens": f"{STUDY} --model mini-xs --checkpoint x --problems x --rollouts x --out x",
    "token-gradients": f"{STUDY} --model mini-xs --checkpoint x --problems x --rollouts x --tokens x --out x",
    "token-frames": f"{STUDY} --results x",
    "token-pages": "--stored x --results x --claims configs/claims.yaml",
    "regrade": f"{STUDY} --results x --out {{temporary}}/regraded",
    "shadow-study": f"{STUDY} --tokens x --shadow x --overlap x",
    "statistics": "--stored x --results x --claims configs/claims.yaml",
    "tables": "--stored x --results x --paper configs/paper.yaml",
    "figure": "--name reward --stored x --results x",
    "paper-figures": "--stored x --results x --paper configs/paper.yaml",
    "claims": "--stored x --results x --claims configs/claims.yaml",
    "report": "--stored x --results x",
    "plan": None,
    "status": f"{STUDY} --results x",
    "eval": "x --benchmarks mini-word --out {temporary}/eval",
    "add-model": "no-such-folder",
    "diff": f"ict-10 grpo {STUDY}",
    "tokens": None,
    "lease": "--gpus 0 -- no-such-command",
    "forkserver": None,
    "shadow": "x --problems x --out x",
    "verify": f"results/x/mini-xs/ict-10/seed-0 {STUDY}",
    "explain": "x/tables/main.csv --cell x",
}
NOTHING = "no such (file|folder|command)"


def timed(arguments: list[str], ending: str = "") -> tuple[float, float, str]:
    """Run `ict`: wall and CPU seconds, and its error output. It must end well, or with an error that has this text."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "ict_core", *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode and not (ending and re.search(f"^error: .*{ending}", done.stderr, re.MULTILINE)):
        sys.exit(f"ict {' '.join(arguments)}: exit status {done.returncode}\n{done.stderr[-4000:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


def middle(arguments: list[str], repeats: int) -> tuple[float, float]:
    """Median wall and CPU seconds."""
    runs = [timed(arguments, NOTHING)[:2] for _ in range(repeats)]
    wall, cpu = zip(*runs, strict=True)
    return statistics.median(wall), statistics.median(cpu)


def heaviest(arguments: list[str]) -> str:
    """The five packages that took longest to import, with seconds (-X importtime, which adds a half to them)."""
    os.environ["PYTHONPROFILEIMPORTTIME"] = "1"
    try:
        output = timed(arguments, NOTHING)[2]
    finally:
        del os.environ["PYTHONPROFILEIMPORTTIME"]
    spent: Counter[str] = Counter()
    for own, module in re.findall(r"^import time: +(\d+) \| +\d+ \| +(\S+)$", output, re.MULTILINE):
        spent[module.partition(".")[0]] += int(own)
    return ", ".join(f"{package} {own / 1e6:.2f}" for package, own in spent.most_common(5))


def training(folder: Path) -> tuple[float, float]:
    """Wall seconds of a three-step training of the smoke study, and those beside its steps."""
    from ict_core.config import load_study
    from ict_core.process import loading
    from ict_core.store import records

    with loading(without=("scipy",)):
        from ict_core.training.pretrain import pretrain

    model = load_study(REPOSITORY / "configs/studies/smoke.yaml").models["mini-xs"]
    base, problems, out = folder / "base", folder / "train.parquet", folder / "train"
    pretrain(model.architecture, model.pretraining.model_copy(update={"steps": 1}), set(), {}, base)
    timed(["data", *STUDY.split(), "--train", str(problems), "--eval", str(folder / "eval.parquet")])
    inputs = ["--base", str(base), "--problems", str(problems), "--out", str(out)]
    wall, _, _ = timed(["train", *STUDY.split(), *CELL.split(), *inputs])
    steps = records.read_frame(out / "timing.parquet", records.TIMING)["total_s"].sum()
    shutil.rmtree(out)
    return wall, wall - steps


def main() -> None:
    """Time every command, then a training."""
    parser = report.parser(__doc__)
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=[*COMMANDS], metavar="COMMAND")
    parser.add_argument("--repeats", type=int, default=3)
    options = report.parse(parser, commands=["check", "grade"], repeats=1)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for command in options.commands:
            without, repeats = COMMANDS[command], options.repeats
            help_wall, help_cpu = middle([command, "--help"], repeats)
            row = {"command": command, "`--help`, s": f"{help_wall:.2f}", "CPU s": f"{help_cpu:.2f}"}
            row |= {"to its work, s": "", "its CPU s": "", "heaviest imports, s": ""}
            if without is not None:
                arguments = [command, *without.format(temporary=temporary).split()]
                wall, cpu = middle(arguments, repeats)
                row |= {"to its work, s": f"{wall:.2f}", "its CPU s": f"{cpu:.2f}"}
                row["heaviest imports, s"] = heaviest(arguments)
            rows.append(row)
        wall, beside = training(Path(temporary))
    print(f"A training of the smoke study: {wall:.1f} s, of which {beside:.1f} s are not its steps.\n")
    report.append(rows, quick=options.quick)


if __name__ == "__main__":
    main()
