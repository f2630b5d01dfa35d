"""A supervised command: its signals, its end in words, and how often it is tried."""

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ict_core.process._supervise import supervise

# Ends as its plan says, one end an attempt, and notes what it is told of earlier ones.
JOB = """
import json, os, signal, sys
from pathlib import Path
notes = Path(sys.argv[1])
attempts = os.environ["ICT_ATTEMPTS"]
with notes.open("a") as file:
    file.write(attempts + "\\n")
end = sys.argv[2:][len(json.loads(attempts))]
if end.isdigit():
    raise SystemExit(int(end))
os.kill(os.getpid(), signal.Signals[end])
"""


def run(tmp_path, *ends, retries=2):
    """The status, and what each attempt was told."""
    notes = tmp_path / "notes"
    status = supervise([sys.executable, "-c", JOB, str(notes), *map(str, ends)], retries, pauses=(0.01,))
    return status, [json.loads(line) for line in notes.read_text().splitlines()]


@pytest.mark.parametrize(
    ("ends", "status", "attempts"),
    [
        ([0], 0, [[]]),
        (["SIGKILL", "SIGKILL", 0], 0, [[], ["SIGKILL"], ["SIGKILL", "SIGKILL"]]),
        ([75, "SIGSEGV", 7], 7, [[], [75], [75, "SIGSEGV"]]),
        (["SIGBUS", "SIGABRT", "SIGKILL", 0], 137, [[], ["SIGBUS"], ["SIGBUS", "SIGABRT"]]),
        ([75, 75, 75, 0], 75, [[], [75], [75, 75]]),
        ([2, 0], 2, [[]]),
        ([1, 0], 1, [[]]),
        (["SIGTERM", 0], 143, [[]]),
        (["SIGALRM", 0], 142, [[]]),
    ],
)
def test_only_what_may_pass_is_tried_again_and_not_forever(tmp_path, ends, status, attempts):
    assert run(tmp_path, *ends) == (status, attempts)


def test_no_retry_where_none_is_wanted(tmp_path):
    assert run(tmp_path, "SIGKILL", 0, retries=0) == (137, [[]])


def test_each_attempt_is_a_line_that_says_what_to_do(tmp_path, capfd):
    run(tmp_path, "SIGKILL", "SIGSEGV", 75)
    first, second, third = capfd.readouterr().err.splitlines()
    assert "was killed by SIGKILL (most likely the kernel's out-of-memory killer; give the job more memory" in first
    assert "hardware.memory_gib" in first and "peak memory" in first
    assert first.endswith("attempt 2 of 3 in 0.01 s") and second.endswith("attempt 3 of 3 in 0.01 s")
    assert "was killed by SIGSEGV (a fault of a library or of the machine" in second
    assert third.endswith("ended by an error that may pass")


@pytest.fixture
def leased():
    """Starts a command under `ict lease`; what is left of it is killed."""
    started = []

    def start(*command):
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        process = subprocess.Popen(
            ["ict", "lease", "--", *command],
            env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # a shell's background jobs ignore an interrupt, and so do the tests that it runs there
            preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def waits(prepare):
    return [
        sys.executable,
        "-c",
        f"import os, signal, time; {prepare}; print(os.getpid(), flush=True); time.sleep(600)",
    ]


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_reach_the_command_and_nothing_is_tried_again(leased, sent):
    process = leased(*waits("signal.signal(signal.SIGUSR1, lambda *_: os._exit(9))"))
    process.stdout.readline()
    process.send_signal(sent)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == {signal.SIGUSR1: 9}.get(sent, 128 + sent)
    assert output == "" and "attempt" not in errors  # it was started once


def test_a_job_may_tidy_up(leased):
    process = leased("bash", "-c", "trap 'echo tidied; exit 3' TERM; echo ready; while :; do sleep 0.05; done")
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60)[0] == "tidied\n"
    assert process.returncode == 3


def test_the_command_never_outlives_its_supervisor(leased):
    process = leased(*waits("signal.signal(signal.SIGTERM, signal.SIG_IGN)"))
    child = int(process.stdout.readline())
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{child}").exists()


def test_a_rank_ends_with_its_launcher(leased):
    """Under a launcher `ict` is a grandchild: it asks the kernel to go with its own parent."""
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    rank = (
        "import time; from ict_core.commands import cli, stages;"
        "stages.load_study = lambda _: (print(os.getpid(), flush=True), time.sleep(600)); import os;"
        "cli.main(['settings', '--study', 's', '--out', 'o'])"
    )
    process = leased(sys.executable, "-c", script, rank)
    pid = int(process.stdout.readline())
    launcher = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(launcher, signal.SIGKILL)
    other = int(process.stdout.readline())  # the second attempt's
    assert other != pid and not Path(f"/proc/{pid}").exists()
