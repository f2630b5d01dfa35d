"""Why a job has failed, by logs as the commands, their launchers and a full disk leave them."""

import os
import sys

import pytest

from ict_core.jobs.causes import cause, failures, last_lines, log_times
from ict_core.process.failures import FULL

TRACEBACK = "Traceback (most recent call last):\n  File 'a', line 1, in b\n    raise c\n"
KILLED = "ict train was killed by SIGKILL (most likely the kernel's out-of-memory killer; peak memory 9 MiB)"
LAUNCHER = f"{TRACEBACK}subprocess.CalledProcessError: Command '['python']' returned non-zero exit status 2.\n"


@pytest.mark.parametrize(
    ("log", "found"),
    [
        ("step 1 of 9\nerror: a: no such file\nTraceback is no line\n", "error: a: no such file"),
        (f"step 1 of 9\n{TRACEBACK}ValueError: first\nsecond\n", "ValueError: first"),
        (
            f"{TRACEBACK}KeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\n"
            f"{TRACEBACK}module.Error\n",
            "module.Error",
        ),
        (f"error: bad key\n{LAUNCHER}", "error: bad key"),
        (f"[rank1]: {TRACEBACK}[rank1]: RuntimeError: NCCL\n{LAUNCHER}", "RuntimeError: NCCL"),
        (f"{TRACEBACK}ValueError: of one thread\n{KILLED}\n", KILLED),
        ("step 3 of 9\nended by SIGTERM\n", "ended by SIGTERM"),
        ("step 3 of 9\rstep 4 of 9\rinterrupted\n", "interrupted"),
        ("correct  wrong\n  12      3\n", ""),
        ("", ""),
        ("sh: line 1: x: No space left on device\n", f"{FULL} [No space left on device]"),
        ("worker: No space left on device\nerror: the vLLM engine died\n", f"{FULL} [error: the vLLM engine died]"),
        ("x" * 2**18 + f"\n{'é' * 9}\nerror: {'y' * 900}\n", f"error: {'y' * 493} ..."),
    ],
)
def test_the_line_that_says_why(tmp_path, log, found):
    (tmp_path / "log").write_text(log)
    assert cause(tmp_path / "log").startswith(found) and bool(cause(tmp_path / "log")) == bool(found)


def test_the_last_line_of_a_long_log_and_of_a_progress_bar(tmp_path):
    (tmp_path / "log").write_text("x" * 9000 + "\n 10 %|  \r 99 %|# \r\n \n")
    assert last_lines(tmp_path / "log")[:2] == ["99 %|#", "10 %|"]
    (tmp_path / "log").write_text("")
    assert last_lines(tmp_path / "log") == []


def test_each_failed_job_of_a_run_is_named_with_its_own_cause(tmp_path):
    """Also those whose logs are older than the run's begin, as the clock was set back."""
    assert log_times(tmp_path / "no folder yet") == {}
    (tmp_path / "gone.log").symlink_to(tmp_path / "what a running Snakemake has removed")
    (tmp_path / "statistics.log").write_text("error: of an earlier run\n")
    (tmp_path / "tables.log").write_text("error: of an earlier run\n")
    before = log_times(tmp_path)
    for name, text in (
        ("collect", "error: bad key\n"),
        ("grade/m/grpo/seed-0", f"{TRACEBACK}ValueError: x\n"),
        ("generate/m/grpo/seed-0", "correct  wrong\n  12      3\n"),
        ("tables", "error: of this run\n"),
    ):
        log = tmp_path / f"{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text)
        os.utime(log, (1, 1))
    causes = ["collect: error: bad key", "grade/m/grpo/seed-0: ValueError: x", "tables: error: of this run"]
    assert failures(tmp_path, before) == [f"failed: {cause}" for cause in causes]
    for number in range(12):
        (tmp_path / f"{number}.log").write_text("error: x")
    assert len(failures(tmp_path, before)) == 11 and failures(tmp_path, before)[-1] == "... and 5 more"
    assert [path.name for path in tmp_path.iterdir() if path.suffix not in (".log", "")] == []


def test_a_full_disk_is_named_where_no_log_could_tell(tmp_path, in_namespace):
    (tmp_path / "logs").mkdir()
    script = f"from pathlib import Path; from ict_core.jobs.causes import failures; logs = Path('{tmp_path}/logs')"
    script += "; print(failures(logs, {})); (logs / 'x.log').write_text('error: bad key'); print(failures(logs, {}))"
    full = f"mount -t tmpfs -o size=8k none {tmp_path}/logs"
    told = in_namespace(full, f'{sys.executable} -c "{script}"').splitlines()
    assert f"error: {tmp_path}/logs" in told[0] and FULL in told[0]
    assert "failed: x: error: bad key" in told[1] and told[1].count(FULL) == 1
