"""A study that is killed and started again ends with the bytes of one that is not; so do two at once."""

import fcntl
import shutil
import signal
import time

import pytest
from killing import Run, Trial, differences, half_written, table, usual_seconds
from repository_copy import Copy

SMOKE = ("--configfile", "configs/studies/smoke.yaml")


@pytest.mark.long
@pytest.mark.slow
def test_a_cell_killed_again_and_again_has_the_same_scores_and_tables(uninterrupted, tmp_path):
    """One cell of a finished study, made anew; `make survive` kills a whole one."""
    copy = Copy(tmp_path, uninterrupted)
    for made in ("cache", "smoke/mini-xs/grpo/seed-0"):
        shutil.rmtree(copy.folder / "results" / made)
    trial = Trial(copy, "smoke", usual_seconds(uninterrupted), seed=1, target="tables")
    stages = ("train", "generate")
    kills = trial.survive(len(stages), stages)
    print(table(kills))
    assert [kill.stage for kill in kills] == list(stages)
    assert {kill.sent for kill in kills} == {signal.SIGKILL, signal.SIGTERM}
    assert {kill.group for kill in kills} == {True, False}
    assert differences(trial.results, uninterrupted / "results/smoke") == []
    assert half_written(trial.results) == []


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("nolock", [False, True], ids=["as usual", "with --nolock"])
def test_two_at_once_do_not_corrupt_a_study(uninterrupted, tmp_path, nolock):
    copy = Copy(tmp_path, uninterrupted)
    results = copy.folder / "results/smoke"
    forced = "results/smoke/mini-xs/grpo/seed-0/grades.parquet"
    arguments = [forced, *SMOKE, "--forcerun", forced, *(["--nolock"] if nolock else [])]
    runs = []
    with (results / "logs/grade/mini-xs/grpo/seed-0.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as a job that is at it: no other ends before the second run came
        for _ in range(2):
            runs.append(Run(copy, arguments))
            while runs[-1].process.poll() is None and not runs[-1].began():
                time.sleep(0.02)
    first, second = (run.end() for run in runs)
    assert first == 0, runs[0].log.read_text()
    assert second == (0 if nolock else 1), runs[1].log.read_text()
    assert ("Directory cannot be locked" in runs[1].log.read_text()) != nolock
    again = copy.snakemake("tables", *SMOKE)
    assert again.returncode == 0, again.stdout[-3000:]
    assert differences(results, uninterrupted / "results/smoke") == []
    assert half_written(results) == []
