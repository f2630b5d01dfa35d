"""Kills a study at random moments, restarts it, and holds what it ends with against an uninterrupted run.

    python tests/workflow/killing.py --study mini --kills 30 --seed 0 --reference DIR

DIR is a copy of the repository in which the study has run without interruption; it is made where there is none. Prints
the kills and what differs, if anything does; the exit status is 0 if nothing does.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq
from repository_copy import Copy

from ict_core.errors import UserError
from ict_core.process.job_log import is_held
from ict_core.store import records
from ict_core.store.layout import MANIFEST
from ict_core.store.manifests import check_files, read_manifest

PATIENCE = 3600.0  # seconds for what must happen in the end


class Run:
    """Snakemake in a process group of its own, and what it has printed."""

    def __init__(self, copy: Copy, arguments: list[str]) -> None:
        self.log = Path(tempfile.mkstemp(prefix="run-", suffix=".txt", dir=copy.folder)[1])
        with self.log.open("w") as file:
            self.process = subprocess.Popen(
                ["snakemake", "--cores", "2", *arguments],
                cwd=copy.folder,
                env=copy.environment,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def has_begun(self) -> bool:
        """Whether it has started a job."""
        return re.search(r"\n(?:local)?rule \w+:\n", self.log.read_text()) is not None

    def end(self) -> int:
        return self.process.wait(timeout=PATIENCE)


def survive(copy: Copy, study: str, kills: int, seconds: float, seed: int, target: str = "all") -> list[str]:
    """Kill a study so often, each time within so many seconds of its first job, and let it end; what was killed how.

    By turns SIGKILL and SIGTERM, to Snakemake alone and to its whole process group. A study that is done too early
    loses one of its cells.
    """
    draw, results, killed = random.Random(seed), copy.folder / "results" / study, []
    while True:
        run = Run(copy, [target, f"--config=study={study}"])
        if len(killed) == kills:
            break
        while run.process.poll() is None and not jobs(results):
            time.sleep(0.02)
        until = time.monotonic() + draw.random() * seconds
        while run.process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        if run.process.poll() is None:
            struck = ", ".join(jobs(results)) or "no job"
            sent, group = (signal.SIGKILL, signal.SIGTERM)[len(killed) % 2], len(killed) % 4 in (0, 3)
            (os.killpg if group else os.kill)(run.process.pid, sent)
            killed.append(f"{sent.name} to {'its group' if group else 'snakemake'} in {struck}")
            run.end()
            time.sleep(1)  # until what was killed is gone
        elif run.end():
            break
        else:
            remove_cell(draw.choice(sorted(results.glob("*/*/seed-*/train"))).parent, results)
    if run.end():
        raise RuntimeError(f"a run that nobody killed failed:\n{run.log.read_text()[-5000:]}")
    return killed


def remove_cell(cell: Path, results: Path) -> None:
    """And what lies between it and the tables, so that these ask for it."""
    for folder in (cell, results / "statistics", results / "tables"):
        shutil.rmtree(folder)
    (results / "scores.parquet").unlink()


def jobs(results: Path) -> list[str]:
    """The jobs that run; Snakemake deletes a log, but not the lock beside it."""
    locks = sorted((results / "logs").rglob("*.lock"))
    running = [lock for lock in locks if is_held(lock.with_suffix(".log"))]
    return [lock.relative_to(results / "logs").with_suffix("").as_posix() for lock in running]


def differences(results: Path, reference: Path) -> list[str]:
    """Scores and tables that are not byte for byte those of the uninterrupted run; wall times are not compared."""
    names = {
        path.relative_to(folder)
        for folder in (results, reference)
        for path in [folder / "scores.parquet", *(folder / "tables").iterdir()]
        if path.stem != "compute"
    }
    return [f"{name} differs" for name in sorted(names) if content(results / name) != content(reference / name)]


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def half_written(results: Path) -> list[str]:
    """What a kill may have left that must not be there: beside an output its beginning, or a file that is not whole."""
    left = [*results.rglob("*.partial"), *results.rglob("*.checkpoints")]
    found = [f"{path} lies beside the finished output" for path in left]
    for path in results.rglob("*"):
        try:
            if path.suffix == ".parquet":
                table = pq.read_table(path)
                if records._hash(table) != records.content_hash(path):
                    found.append(f"{path}: another checksum")
            elif path.name in ("manifest.json", "generation.json", "grading.json"):
                read_manifest(path)
            elif path.suffix == ".json":
                json.loads(path.read_text())
            elif path.name in ("train", "model") and path.is_dir() and (path / MANIFEST).exists():
                check_files(path)
        except (OSError, ValueError, UserError) as error:
            found.append(f"{path} is not whole: {error}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", default="mini", help="configs/studies/<study>.yaml (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reference", type=Path, required=True, help="a copy in which the study has run")
    options = parser.parse_args()
    if not options.reference.exists():
        whole = Run(Copy(options.reference), [f"--config=study={options.study}"])
        if whole.end():
            raise SystemExit(f"the uninterrupted run failed:\n{whole.log.read_text()[-5000:]}")
    copy = Copy(Path(tempfile.mkdtemp(prefix="killing-")))
    print(*survive(copy, options.study, options.kills, 30.0, options.seed), sep="\n")
    results, reference = (folder / "results" / options.study for folder in (copy.folder, options.reference))
    faults = [*differences(results, reference), *half_written(results)]
    print("\n".join(faults) or "scores and tables are byte for byte those of the uninterrupted run")
    if not faults:
        shutil.rmtree(copy.folder)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
