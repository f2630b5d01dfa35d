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
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from repository_copy import Copy

from ict_core.errors import UserError
from ict_core.process import is_held
from ict_core.store import MANIFEST, check_files, read_manifest, records

STAGES = {  # with the rules and the logs (without suffix) that belong to each; the study passes them in this order
    "pretrain": ("pretrain", ["pretrain/**/*"]),
    "train": ("train", ["train/**/*"]),
    "generate": ("generate", ["generate/**/*"]),
    "grade": ("grade", ["grade/**/*"]),
    "aggregation": (
        "collect|statistics|make_tables|figure_.*|claims|report",
        ["collect", "statistics", "tables", "figures/*", "claims", "report"],
    ),
}
ANEW = {  # what is made once more where a stage has no job left to be killed in
    "train": "{cell}/train",
    "generate": "{cell}/completions.parquet",
    "grade": "{cell}/grades.parquet",
    "aggregation": "scores.parquet",
}
LATEST = 0.7  # of the usual time, so that a job on a machine that is less busy than usual is struck as well
MISSES = 3  # jobs that ended before their moment came; the next one is struck at once when it is seen
PATIENCE = 3600.0  # seconds for what must happen in the end


@dataclass(frozen=True)
class Kill:
    """One kill as it happened."""

    stage: str  # of the job that ran
    job: str  # its log, without folder `logs` and suffix
    after: float  # seconds from its first being seen
    sent: signal.Signals
    group: bool  # whether it was sent to all of Snakemake's process group, else to Snakemake alone

    def __str__(self) -> str:
        target = "process group" if self.group else "snakemake"
        return f"{self.job} after {self.after:.1f} s: {self.sent.name} to {target}"


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

    def began(self) -> set[str]:
        """The jobs that it began, each by its first output."""
        return set(
            re.findall(r"\n(?:local)?rule \w+:\n(?:    input: .*\n)?    output: ([^,\n]+)", self.log.read_text())
        )

    def left(self) -> Counter[str]:
        """How many jobs of each rule have not ended; waits until it is known what is to be run."""
        while self.process.poll() is None and not re.search(r"\ntotal +\d", self.log.read_text()):
            time.sleep(0.05)
        text = self.log.read_text()
        jobs = Counter({rule: int(count) for rule, count in re.findall(r"\n(\w+) +(\d+)(?=\n)", text)})
        return jobs - Counter(re.findall(r"\nFinished jobid: \d+ \(Rule: (\w+)\)", text))

    def end(self) -> int:
        return self.process.wait(timeout=PATIENCE)


class Trial:
    """A study that is killed again and again until it is done and has been killed often enough.

    Args:
        seconds: what a job of each stage takes.
        seed: of the moments.
        target: up to which it is run.
    """

    def __init__(self, copy: Copy, study: str, seconds: dict[str, float], seed: int, target: str = "all") -> None:
        self.copy, self.study, self.target = copy, study, target
        self.results = copy.folder / "results" / study
        self.draw = random.Random(seed)
        self.seconds = seconds
        self.kills: list[Kill] = []

    def survive(self, kills: int, stages: Sequence[str] = tuple(STAGES)) -> list[Kill]:
        """Kill so often, spread evenly over the stages, and let it end."""
        wanted = [stages[number * len(stages) // kills] for number in range(kills)]
        anew: list[str] = []
        while True:
            run = self._start(anew)
            anew = []
            kill = self._kill(run, wanted[len(self.kills)]) if len(self.kills) < kills else None
            status = run.end()
            if kill is not None:
                self.kills.append(kill)
                time.sleep(1)  # until what was killed is gone
            elif status:
                raise RuntimeError(f"a run that nobody killed failed:\n{run.log.read_text()[-5000:]}")
            elif len(self.kills) == kills:
                return self.kills
            else:
                anew = self._anew(wanted[len(self.kills)])

    def _start(self, anew: list[str]) -> Run:
        study = ["--configfile", f"configs/studies/{self.study}.yaml"]
        return Run(self.copy, [self.target, *study, *(["--forcerun", *anew] if anew else [])])

    def _kill(self, run: Run, wanted: str) -> Kill | None:
        """Wait for a job of the stage, or of the next that has any, and kill at a moment of it; None: all is done."""
        orphans, misses = set(self._held()), 0
        while (stage := self._next_stage(run, wanted)) and run.process.poll() is None:
            log = next((log for log in self._held(stage) if log not in orphans), None)
            if log is None:
                time.sleep(0.05)
                continue
            seen, usual = time.monotonic(), self.seconds[stage]
            moment = self.draw.random() * usual * LATEST * (misses < MISSES)
            while is_held(log) and time.monotonic() - seen < moment:
                time.sleep(0.02)
            if is_held(log):
                number = len(self.kills)
                sent, group = (signal.SIGKILL, signal.SIGTERM)[number % 2], number % 4 in (0, 3)
                (os.killpg if group else os.kill)(run.process.pid, sent)
                job = log.relative_to(self.results / "logs").with_suffix("").as_posix()
                return Kill(stage, job, time.monotonic() - seen, sent, group)
            misses += 1
        return None

    def _next_stage(self, run: Run, wanted: str) -> str | None:
        """The stage, or the first one after it of which the run has jobs left; None where there is none."""
        left = run.left()
        order = [*STAGES][[*STAGES].index(wanted) :]
        return next((s for s in order if any(left[rule] for rule in left if re.fullmatch(STAGES[s][0], rule))), None)

    def _held(self, stage: str | None = None) -> Iterator[Path]:
        """The logs of the jobs that run, of one stage or of any."""
        patterns = STAGES[stage][1] if stage else ["**/*"]
        return (log for pattern in patterns for log in self._logs(pattern) if is_held(log))

    def _logs(self, pattern: str) -> Iterator[Path]:
        """The logs of jobs that have begun; Snakemake deletes a log, but not the lock beside it."""
        return (lock.with_suffix(".log") for lock in (self.results / "logs").glob(f"{pattern}.lock"))

    def _anew(self, stage: str) -> list[str]:
        """An output to make once more."""
        cells = sorted(self.results.glob("*/*/seed-*/train"))
        cell = self.draw.choice(cells).parent.relative_to(self.results).as_posix()
        return [f"results/{self.study}/{ANEW.get(stage, ANEW['train']).format(cell=cell)}"]


def usual_seconds(results: Path) -> dict[str, float]:
    """What a job of each stage took in a finished run, the median, by its manifests; those of aggregation have none."""
    manifests = {"pretrain": "model/manifest", "train": "train/manifest", "generate": "generation", "grade": "grading"}
    paths = {stage: results.glob(f"*/*/seed-*/{name}.json") for stage, name in manifests.items()}
    took = {stage: statistics.median(read_manifest(p)["wall_seconds"] for p in found) for stage, found in paths.items()}
    return took | {"aggregation": 2.0}


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
        result = Copy(options.reference).snakemake("--configfile", f"configs/studies/{options.study}.yaml")
        if result.returncode:
            raise SystemExit(f"the uninterrupted run failed:\n{result.stdout[-5000:]}")
    folder = Path(tempfile.mkdtemp(prefix="killing-"))
    seconds = usual_seconds(options.reference / "results" / options.study)
    trial = Trial(Copy(folder), options.study, seconds, options.seed)
    kills = trial.survive(options.kills)
    reference = options.reference / "results" / options.study
    faults = [*differences(trial.results, reference), *half_written(trial.results)]
    print(*kills, sep="\n")
    print("\n".join(faults) or "scores and tables are byte for byte those of the uninterrupted run")
    if not faults:
        shutil.rmtree(folder)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
