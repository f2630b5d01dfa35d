"""A study that is killed and started again ends with the bytes of one that is not; so do two at once."""

import fcntl
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest
from killing import Run, differences, half_written, remove_cell, survive
from repository_copy import Copy

from ict_core.process.job_log import is_held

SMOKE = ("--config=study=smoke",)


@pytest.mark.long
def test_a_cell_killed_again_and_again_has_the_same_scores_and_tables(uninterrupted, tmp_path):
    """One cell of a finished study, made anew; `make survive` kills a whole one."""
    copy = Copy(tmp_path, uninterrupted)
    results = copy.folder / "results/smoke"
    remove_cell(results / "mini-xs/grpo/seed-0", results)
    shutil.rmtree(copy.folder / "results/cache")
    killed = survive(copy, "smoke", kills=3, seconds=10, seed=1, target="tables")
    assert len(killed) == 3 and "train/mini-xs/grpo/seed-0" in killed[0]
    assert differences(results, uninterrupted / "results/smoke") == []
    assert half_written(results) == []


@pytest.mark.long
def test_two_at_once_without_snakemake_s_lock_do_not_corrupt_a_study(uninterrupted, tmp_path):
    copy = Copy(tmp_path, uninterrupted)
    results = copy.folder / "results/smoke"
    forced = "results/smoke/mini-xs/grpo/seed-0/grades.parquet"
    arguments = [forced, *SMOKE, "--forcerun", forced, "--nolock"]
    runs = []
    with (results / "logs/grade/mini-xs/grpo/seed-0.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as a job that is at it: no other ends before the second run came
        for _ in range(2):
            runs.append(Run(copy, arguments))
            while runs[-1].process.poll() is None and not runs[-1].has_begun():
                time.sleep(0.02)
    for run in runs:
        assert run.end() == 0, run.log.read_text()
    copy.made("tables", *SMOKE)
    assert differences(results, uninterrupted / "results/smoke") == []
    assert half_written(results) == []


@pytest.fixture
def temporary():
    """A temporary folder of a study's own; by its short name a socket's has room."""
    folder = Path(tempfile.mkdtemp(prefix="kill-"))
    yield folder
    shutil.rmtree(folder)


def of_the_study(temporary: Path) -> dict[int, str]:
    """The processes whose temporary files lie in a folder, each with its command."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.fsencode(temporary) in (process / "environ").read_bytes():
                found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:  # it has ended
            continue
    return found


def left(temporary: Path) -> list[str]:
    """What is left of a study after a minute, or as soon as nothing is."""
    until = time.monotonic() + 60
    while (found := [*of_the_study(temporary).values(), *map(str, temporary.iterdir())]) and time.monotonic() < until:
        time.sleep(0.1)
    return found


TRAIN, STATISTICS = "train/mini-xs/grpo/seed-0", "statistics"
KILLED = "it was killed (SIGKILL"


@pytest.mark.long
def test_what_is_killed_leaves_nothing_and_names_its_cause_and_the_same_command_goes_on(
    uninterrupted, tmp_path, temporary
):
    copy = Copy(tmp_path, uninterrupted)
    copy.environment["TMPDIR"] = str(temporary)
    results = copy.folder / "results/smoke"
    for made in ("mini-xs/grpo/seed-0", "../cache", "statistics", "tables"):
        shutil.rmtree(results / made)
    (results / "scores.parquet").unlink()
    for job, killed, sent, status, told in (
        (TRAIN, "snakemake ", signal.SIGKILL, -signal.SIGKILL, "ended by SIGTERM"),
        (TRAIN, "ict lease ", signal.SIGKILL, 1, KILLED),
        (STATISTICS, "forkserver --kind evidence", signal.SIGKILL, 1, "ict statistics was killed by SIGKILL"),
    ):
        run = Run(copy, ["tables", *SMOKE, "--retries", "0"])
        while not is_held(results / f"logs/{job}.log"):
            assert run.process.poll() is None, run.log.read_text()
            time.sleep(0.02)
        for process, command in of_the_study(temporary).items():
            if killed in command and "bash" not in command:
                os.kill(process, sent)
        assert run.end() == status, run.log.read_text()
        assert left(temporary) == []
        said = " ".join(copy.run("ict", "status", "--study", "smoke").stdout.split())
        assert f" failed {job.split('/')[0]} " in said and told in said, said
    run = Run(copy, ["tables", *SMOKE])
    while not is_held(results / f"logs/{STATISTICS}.log"):
        assert run.process.poll() is None, run.log.read_text()
        time.sleep(0.02)
    running = of_the_study(temporary).items()
    jobs = [process for process, command in running if "ict statistics " in command and "bash" not in command]
    assert jobs, running
    for job in jobs:
        os.kill(job, signal.SIGKILL)
    assert run.end() == 0, run.log.read_text()  # by the retry of the profile
    assert "Trying to restart job" in run.log.read_text()
    assert differences(results, uninterrupted / "results/smoke") == []
    assert half_written(results) == []
    assert left(temporary) == []
