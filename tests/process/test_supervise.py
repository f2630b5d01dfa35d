"""A supervised command: its signals, its end in words and as a status, and what ends with it."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import gone, waited_for

from ict_core.process.supervise import supervise

JOB = """
import os, signal, sys
if sys.argv[1].isdigit():
    sys.exit(int(sys.argv[1]))
os.kill(os.getpid(), signal.Signals[sys.argv[1]])
"""


@pytest.mark.parametrize(
    ("end", "status", "told"),
    [
        (3, 3, ""),
        ("SIGKILL", 137, "was killed by SIGKILL (most likely the kernel's out-of-memory killer"),
        ("SIGSEGV", 139, "was killed by SIGSEGV (a fault of a library or of the machine"),
        ("SIGTERM", 143, "was ended by SIGTERM"),
    ],
)
def test_a_command_is_started_once_and_its_death_is_a_line(capfd, end, status, told):
    assert supervise([sys.executable, "-c", JOB, str(end)]) == status
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == bool(told) and told in "".join(lines)


@pytest.fixture
def leased():
    """Starts a command under `ict lease`; what is left of it is killed."""
    started = []

    def start(*command):
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        options = {"env": os.environ | {"PATH": path}, "start_new_session": True, "text": True}
        # a shell's background jobs ignore an interrupt, and so do the tests that it runs there
        options["preexec_fn"] = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        command = ("ict", "lease", "--", *command)
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options))
        return started[-1]

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def waits(prepare):
    code = f"import os, signal, time; {prepare}; print(os.getpid(), flush=True); time.sleep(600)"
    return [sys.executable, "-c", code]


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_reach_the_command(leased, sent):
    process = leased(*waits("signal.signal(signal.SIGUSR1, lambda *_: os._exit(9))"))
    process.stdout.readline()
    process.send_signal(sent)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == {signal.SIGUSR1: 9}.get(sent, 128 + sent)
    assert output == ""  # it was started once


def test_the_command_never_outlives_its_supervisor(leased):
    process = leased(*waits("signal.signal(signal.SIGTERM, signal.SIG_IGN)"))
    child = int(process.stdout.readline())
    process.kill()
    process.wait()
    waited_for(lambda: gone(child))


@pytest.mark.slow
def test_a_rank_ends_with_its_launcher(leased, tmp_path):
    """Under `accelerate launch`, `ict` is a grandchild: it asks the kernel to go with its own parent."""
    (tmp_path / "rank.py").write_text(
        "import os, time\nfrom ict_core.commands import cli\nfrom ict_core.stages import settings\n"
        "settings.load_study = lambda _: (print(os.getpid(), flush=True), time.sleep(600))\n"
        "cli.main(['settings', '--study', 's', '--out', 'o'])\n"
    )
    options = ["--cpu", "--num_processes", "1", "--num_machines", "1", "--mixed_precision", "no"]
    process = leased("accelerate", "launch", *options, "--dynamo_backend", "no", str(tmp_path / "rank.py"))
    pid = int(process.stdout.readline())
    launcher = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    assert "accelerate" in Path(f"/proc/{launcher}/cmdline").read_text()
    os.kill(launcher, signal.SIGKILL)
    waited_for(lambda: gone(pid))
    assert process.wait(timeout=60) == 128 + signal.SIGKILL
