"""What a run of Snakemake starts ends with it, however that ends, and leaves no file."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import gone, waited_for

from ict_core.process import lifeline

RUN_SCRIPT = """
import os, subprocess, sys
from pathlib import Path
from ict_core.process.lifeline import begin
print(begin(Path(sys.argv[1])), flush=True)
if sys.argv[2:]:
    job = subprocess.Popen([sys.executable, "-c", sys.argv[2]], start_new_session=True)
    print(job.pid, flush=True)
sys.stdin.read()
"""
RACE = """
import os, subprocess, sys
make = os.mkfifo
def make_while_another_run_begins(pipe, mode):
    make(pipe, mode)
    subprocess.run([sys.executable, "-c", "from ict_core.process.lifeline import begin; begin()"], check=True)
os.mkfifo = make_while_another_run_begins
"""
JOB = """
import pathlib, tempfile, time
from ict_core.process.lifeline import end_with_run
tempfile.mkstemp()
end_with_run()
pathlib.Path(tempfile.gettempdir(), "ready").touch()
time.sleep(600)
"""


@pytest.fixture
def begun(tmp_path):
    """Begins runs whose temporary folder is this test's; what is left of them is killed."""
    processes = []
    (tmp_path / "tmp").mkdir()
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp")}

    def begin(*job: str, before: str = "") -> tuple[subprocess.Popen, Path]:
        command = [sys.executable, "-c", before + RUN_SCRIPT, str(tmp_path / "tmp/beside"), *job]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
        processes.append(process)
        return process, Path(process.stdout.readline().strip())

    yield begin
    for process in processes:
        process.kill()
        process.wait()


def that_name(folder: Path) -> list[int]:
    """The processes in whose command or environment a folder stands."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            told = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in told and not gone(int(process.name)):
            found.append(int(process.name))
    return found


def test_a_run_leaves_no_process_and_no_file(begun, tmp_path):
    """However it ends: by a signal, or by itself."""
    (tmp_path / "tmp/beside").mkdir()
    started = [begun(JOB) for _ in range(3)]
    jobs = [int(run.stdout.readline()) for run, _ in started]
    for _, folder in started:
        waited_for((folder / "tmp/ready").exists)
        assert len(list((folder / "tmp").iterdir())) == 2
    assert not any(map(gone, jobs))
    (killed, _), (told, _), (ended, _) = started
    killed.kill()
    told.terminate()
    ended.stdin.close()
    waited_for(lambda: all(map(gone, jobs)))
    waited_for(lambda: not any((tmp_path / "tmp").iterdir()))
    waited_for(lambda: not any(that_name(folder) for _, folder in started))


def test_a_job_that_comes_after_its_run_has_gone_ends_at_once(begun):
    run, folder = begun()
    run.kill()
    waited_for(lambda: not folder.exists())
    job = subprocess.run(
        [sys.executable, "-c", JOB], env=os.environ | {lifeline.RUN: str(folder)}, timeout=60, check=False
    )
    assert job.returncode == -signal.SIGTERM


def test_what_a_machine_that_went_down_has_left_is_removed_and_another_runs_is_not(begun, tmp_path):
    left, elsewhere = tmp_path / f"tmp/{lifeline._PREFIX}left", tmp_path / "tmp/ict-another-machine"
    for folder in (left, elsewhere):  # a pipe that another machine's run holds is not held here
        (folder / "tmp").mkdir(parents=True)
        os.mkfifo(folder / lifeline._PIPE)
    _, first = begun()
    assert not left.exists() and elsewhere.exists()
    begun()
    assert first.exists()


def test_a_run_that_has_just_made_its_pipe_is_left_alone_by_the_next(begun):
    _, folder = begun(before=RACE)
    assert (folder / lifeline._PIPE).exists()
