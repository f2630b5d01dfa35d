"""Why a job has failed, by logs as the commands, their launchers and a full disk leave them."""

import sys
from pathlib import Path

import pytest

from ict_core.jobs import cause, last_line, summary, telling
from ict_core.jobs._causes import why
from ict_core.process.failures import FULL

TRACEBACK = "Traceback (most recent call last):\n  File 'a', line 1, in b\n    raise c\n"
AGAIN = "ict train ended by an error that may pass; attempt 2 of 3 in 5 s\n"
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
        (f"error: lost\n{AGAIN}step 3 of 9\n{TRACEBACK}ValueError: then\n", "ValueError: then"),
        (f"error: lost\n{AGAIN}step 9 of 9\nmini-xs: 9 steps\n", ""),
        ("step 3 of 9\nended by SIGTERM\n", "ended by SIGTERM"),
        ("step 3 of 9\rstep 4 of 9\rinterrupted\n", "interrupted"),
        ("correct  wrong\n  12      3\n", ""),
        ("", ""),
        ("sh: line 1: x: No space left on device\n", f"{FULL} [No space left on device]"),
        (f"{TRACEBACK}OSError: [Errno 28] No space left on device\n", f"{FULL} [OSError: [Errno 28] No space left"),
        ("worker: No space left on device\nerror: the vLLM engine died\n", f"{FULL} [error: the vLLM engine died]"),
        (f"error: a: {FULL}. Kept [No space left on device]\n", f"error: a: {FULL}. Kept [No space left on device]"),
        ("x" * 2**18 + f"\n{'é' * 9}\nerror: {'y' * 900}\n", f"error: {'y' * 493} ..."),
    ],
)
def test_the_line_that_says_why(tmp_path, log, found):
    (tmp_path / "log").write_text(log)
    assert cause(tmp_path / "log").startswith(found) and bool(cause(tmp_path / "log")) == bool(found)


def test_the_last_line_of_a_long_log_and_of_a_progress_bar(tmp_path):
    (tmp_path / "log").write_text("x" * 9000 + "\n 10 %|  \r 99 %|# \r\n \n")
    assert last_line(tmp_path / "log") == "99 %|#"
    (tmp_path / "log").write_text("")
    assert last_line(tmp_path / "log") == ""


def test_a_summary_names_every_job_and_its_own_cause(tmp_path):
    logs = {name: tmp_path / f"{name}.log" for name in ("collect", "grade", "data", "tables")}
    logs["collect"].write_text("error: grades.parquet: not a readable Parquet file\n")
    logs["grade"].write_text("correct  wrong\n  12      3\n")
    logs["data"].write_text("")
    assert summary(logs.items(), None, [tmp_path]) == [
        "failed: collect: error: grades.parquet: not a readable Parquet file",
        "failed: data: its log names no error, and ends: ",
        "failed: grade: its log names no error, and ends: 12      3",
        "failed: tables: it left no log; what is printed above says more",
    ]
    many = summary([(f"train of m/{i}", logs["collect"]) for i in range(12)], None, [tmp_path])
    assert len(many) == 11 and many[-1] == "... and 2 more"
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".log"] == []


def test_a_full_disk_is_named_where_no_log_could_tell(tmp_path, in_namespace):
    (tmp_path / "logs").mkdir()
    script = f"from pathlib import Path; from ict_core.jobs._causes import *; logs = Path('{tmp_path}/logs')"
    calls = "print(why(logs / 'x.log')); print(summary([('x', logs / 'x.log')], None, [logs]))"
    calls += "; (logs / 'x.log').write_text('error: bad key'); print(summary([('x', logs / 'x.log')], None, [logs]))"
    python = f'{sys.executable} -c "{script}; {calls}"'
    told = in_namespace(f"mount -t tmpfs -o size=8k none {tmp_path}/logs", python).splitlines()
    assert told[0].startswith(f"{tmp_path}/logs: {FULL}")
    assert told[1].count(FULL) == 1 and "failed: x: " in told[1]
    assert "'failed: x: error: bad key', 'error: " in told[2] and told[2].count(FULL) == 1


def test_an_error_of_snakemake_itself_is_told_and_raised(tmp_path):
    def schedule(number):
        raise OSError(28, "No space left on device", ".snakemake/x")

    said = []
    with pytest.raises(OSError, match="No space"):
        telling(schedule, lambda error, number: said.extend([number, *summary([], error, [tmp_path])]))(7)
    assert said[0] == 7 and said[1].startswith(f"error: .snakemake/x: {FULL}") and len(said) == 2
    assert telling(Path, print)("a") == Path("a")
    assert why(tmp_path / "none.log") == "it left no log; what is printed above says more"
