"""A study that is killed in every stage ends with the bytes of one that is not; so do two at once."""

import shutil
import signal
import time
from subprocess import PIPE, STDOUT, Popen

import pytest
from killing import Trial, differences, half_written, table, usual_seconds
from repository_copy import Copy

from ict_core.status import is_held

SMOKE = ("--configfile", "configs/studies/smoke.yaml")


@pytest.mark.slow
def test_a_cell_killed_again_and_again_has_the_same_scores_and_tables(uninterrupted, tmp_path):
    """One cell of a finished study, made anew; `make survive` kills a whole one."""
    copy = Copy(tmp_path, uninterrupted)
    for made in ("cache", "smoke/mini-xs/grpo/seed-0"):
        shutil.rmtree(copy.folder / "results" / made)
    trial = Trial(copy, "smoke", usual_seconds(uninterrupted), seed=1, target="tables")
    stages = ("train", "generate", "aggregation")
    kills = trial.survive(3, stages)
    print(table(kills))
    assert [kill.stage for kill in kills] == list(stages)
    assert {kill.sent for kill in kills} == {signal.SIGKILL, signal.SIGTERM}
    assert {kill.group for kill in kills} == {True, False}
    assert differences(trial.results, uninterrupted / "results/smoke") == []
    assert half_written(trial.results) == []


@pytest.mark.slow
@pytest.mark.parametrize("nolock", [False, True], ids=["as usual", "with --nolock"])
def test_two_at_once_do_not_corrupt_a_study(uninterrupted, tmp_path, nolock):
    copy = Copy(tmp_path, uninterrupted)
    results = copy.folder / "results/smoke"
    forced = "results/smoke/mini-xs/grpo/seed-0/grades.parquet"
    command = ["snakemake", forced, "--cores", "1", *SMOKE, "--forcerun", forced, *(["--nolock"] if nolock else [])]
    both = []
    for _ in range(2):
        both.append(Popen(command, cwd=copy.folder, env=copy.environment, text=True, stdout=PIPE, stderr=STDOUT))
        while both[0].poll() is None and not is_held(results / "logs/grade/mini-xs/grpo/seed-0.log"):
            time.sleep(0.02)  # the second one starts once a job of the first one runs
    said = [process.communicate(timeout=600)[0] for process in both]
    assert any("rule grade:" in text for text in said)
    if not nolock:
        assert sorted(process.returncode for process in both) == [0, 1]
        assert sum("Directory cannot be locked" in text for text in said) == 1
    again = copy.snakemake("tables", *SMOKE)
    assert again.returncode == 0, again.stdout[-3000:]
    assert differences(results, uninterrupted / "results/smoke") == []
    assert half_written(results) == []
