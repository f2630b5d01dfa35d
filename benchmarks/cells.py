"""CPU seconds of a cell, training, sampling and grading, with its jobs forked and with each job by itself.

    python benchmarks/cells.py
    python benchmarks/cells.py --quick  # the training of one cell of the smallest model

In a copy of the repository, Snakemake runs the cells of one method from a base model that is there already: in turns
with jobs that are forked from processes that have their imports, as usual, and with `ICT_FORKSERVERS` empty, so that
each job starts by itself. All processes count, Snakemake and those that import as well. Both ways must give the same
bytes.
"""

import contextlib
import ctypes
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import report

from ict_core.config import load_study
from ict_core.store import COMPLETIONS_CACHE, StudyFiles, hash_weights, study_folder
from ict_core.store.records import content_hash

_BECOME_SUBREAPER = 36  # prctl(2): orphans of our children become ours, so that their seconds are counted
_WAYS = {"forked": None, "by itself": ""}  # with the variable that Snakemake finds


def copy(folder: Path, study: str, method: str, seeds: int, pretraining: int | None) -> None:
    """All that a run reads, and the study with the cells of one model, pretrained so many steps, and method."""
    report.copy_workflow(folder)
    text = (folder / f"configs/studies/{study}.yaml").read_text()
    model = next(iter(load_study(report.REPOSITORY / f"configs/studies/{study}.yaml").models))
    if pretraining is not None:
        file = folder / f"configs/models/{model}.yaml"
        file.write_text(re.sub(r"^  steps: \d+", f"  steps: {pretraining}", file.read_text(), flags=re.MULTILINE))
    (folder / "configs/studies/timed.yaml").write_text(report.timed_study(text, model, [method], seeds))


def snakemake(folder: Path, targets: list[str], forked: str | None) -> tuple[float, float]:
    """Run Snakemake on two cores: wall seconds, and CPU seconds of all processes that came of it."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    environment |= {} if forked is None else {"ICT_FORKSERVERS": forked}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = ["-m", "snakemake", *targets, "--cores", "2", "--configfile", "configs/studies/timed.yaml"]
    with tempfile.TemporaryFile("w+") as printed:
        status = subprocess.call(
            [sys.executable, *command], cwd=folder, env=environment, stdout=printed, stderr=printed
        )
        wall = time.perf_counter() - started
        if status:
            printed.seek(0)
            sys.exit(printed.read()[-4000:])
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()  # the servers end a second after Snakemake
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Take turns, compare, and append a table to the results."""
    parser = report.parser(__doc__)
    parser.add_argument("--study", default="mini", help="whose first model runs (default: %(default)s)")
    parser.add_argument("--method", default="ict-10")
    parser.add_argument("--seeds", type=int, default=6, help="cells a turn (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--pretraining", type=int, metavar="STEPS", help="(default: the model's)")
    parser.add_argument("--stage", choices=["train", "grades"], default="grades", help="the last that runs")
    options = report.parse(parser, study="smoke", seeds=1, rounds=1, pretraining=1, stage="train")
    ctypes.CDLL(None, use_errno=True).prctl(_BECOME_SUBREAPER, 1, 0, 0, 0)
    taken: dict[str, list[tuple[float, float]]] = {way: [] for way in _WAYS}
    made = set()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        copy(folder, options.study, options.method, options.seeds, options.pretraining)
        study = load_study(folder / "configs/studies/timed.yaml")
        files = StudyFiles(study_folder(study.name))
        cells = [files.cell(cell.folder) for cell in study.cells()]
        snakemake(folder, ["base_models"], None)
        for number in range(options.rounds):
            for way in sorted(_WAYS, reverse=bool(number % 2)):
                taken[way].append(snakemake(folder, [str(getattr(cell, options.stage)) for cell in cells], _WAYS[way]))
                hashes = [hash_weights(folder / cell.model) for cell in cells]
                grades = [folder / cell.grades for cell in cells if (folder / cell.grades).exists()]
                made.add((*hashes, *map(content_hash, grades)))
                for cell in cells:
                    shutil.rmtree(folder / cell.folder)
                shutil.rmtree(folder / COMPLETIONS_CACHE, ignore_errors=True)
    if len(made) != 1:
        sys.exit("the turns gave other weights or grades")
    rows = []
    for way, turns in taken.items():
        wall, cpu = (statistics.median(values) / len(cells) for values in zip(*turns, strict=True))
        rows.append(
            {"jobs": way, "cells a turn": str(len(cells)), "CPU s a cell": f"{cpu:.1f}", "wall s a cell": f"{wall:.1f}"}
        )
    report.append(rows, quick=options.quick)


if __name__ == "__main__":
    main()
