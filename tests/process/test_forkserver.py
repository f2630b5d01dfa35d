"""A job that a server forks is as it would be alone: streams, status, signals, ends; and no server outlives its use."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from processes import gone, waited_for

from ict_core.process import forkserver, supervise

REPOSITORY = Path(__file__).parents[2]
SERVER = """
import sys, time, os
from pathlib import Path
from ict_core.process.forkserver import serve
from ict_core.process.supervise import end_with_parent

def job(arguments):
    end_with_parent()
    print("out of", *arguments, os.environ.get("PWD"), flush=True)
    print("err", file=sys.stderr, flush=True)
    what = arguments[-1]
    if what == "fails":
        raise ValueError("no such luck")
    if what == "waits":
        Path(arguments[-2]).write_text(str(os.getpid()))
        time.sleep(600)
    return int(what)

serve(Path(sys.argv[1]), lambda: None, job)
"""
CLIENT = """
import sys
from ict_core.process.supervise import forked
status = forked(["ict", "figure", *sys.argv[1:]])
sys.exit(99 if status is None else status)
"""


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    """One in which a server of this test's own stands where that of figures would."""
    folder = tmp_path / "servers"
    folder.mkdir()
    return {**os.environ, forkserver.FOLDER: str(folder), "OMP_NUM_THREADS": "1", "PWD": "of the job"}


def address_of(environment: dict[str, str]) -> Path:
    """The socket of the server of figures."""
    shared = {name: value for name, value in environment.items() if name not in forkserver._OF_THE_JOB}
    return Path(environment[forkserver.FOLDER]) / forkserver._key("evidence", None, shared)


@pytest.fixture
def server(environment) -> subprocess.Popen:
    address = address_of(environment)
    process = subprocess.Popen([sys.executable, "-c", SERVER, address])
    waited_for(address.exists)
    yield process
    process.kill()
    process.wait()


def client(environment: dict[str, str], *arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-c", CLIENT, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def waiting(server, environment, tmp_path) -> tuple[subprocess.Popen, int]:
    """A client whose job waits, and the job's process."""
    told = tmp_path / "pid"
    process = client(environment, str(told), "waits")
    waited_for(lambda: told.exists() and told.read_text())
    yield process, int(told.read_text())
    process.kill()
    process.communicate()


def test_a_job_prints_where_its_client_does_and_ends_with_its_status_or_exception(server, environment):
    process = client(environment, "--name", "3")
    assert process.communicate() == ("out of figure --name 3 of the job\n", "err\n")
    assert process.returncode == 3
    process = client(environment, "fails")
    assert "ValueError: no such luck" in process.communicate()[1] and process.returncode == 1
    assert client(environment, "0").wait() == 0


@pytest.mark.parametrize(("to", "sent", "status"), [("job", signal.SIGKILL, 137), ("client", signal.SIGTERM, 143)])
def test_a_client_hands_signals_on_and_ends_as_its_job_does(waiting, to, sent, status):
    process, job = waiting
    os.kill(job if to == "job" else process.pid, sent)
    assert process.wait(30) == status and gone(job)


def test_a_job_dies_with_its_client_and_the_server_goes_on(waiting, server, environment):
    process, job = waiting
    process.kill()
    waited_for(lambda: gone(job))
    assert client(environment, "0").wait() == 0


def test_a_client_that_does_not_ask_holds_up_no_other(server, environment):
    with forkserver._socket() as stopped:
        stopped.connect(str(address_of(environment)))
        assert client(environment, "0").wait(30) == 0


def test_a_killed_server_ends_its_jobs_and_the_next_one_starts_by_itself(waiting, server, environment):
    process, job = waiting
    server.kill()
    server.wait()
    waited_for(lambda: gone(job))
    assert process.wait(30) == 137


def test_a_server_ends_when_its_folder_is_removed_and_its_last_job_has_ended(waiting, server, environment):
    process, job = waiting
    folder = Path(environment[forkserver.FOLDER])
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    with pytest.raises(subprocess.TimeoutExpired):
        server.wait(2)
    os.kill(job, signal.SIGTERM)
    assert process.wait(30) == 143 and server.wait(30) == 0


@pytest.mark.parametrize(
    ("command", "other"),
    [
        (["ict", "figure"], {forkserver.FOLDER: None}),
        (["ict", "plan"], {}),
        (["python", "figure"], {}),
        (["ict", "figure"], {"CUDA_VISIBLE_DEVICES": "0"}),
        (["ict", "figure"], {"OMP_NUM_THREADS": "2"}),
    ],
    ids=["no folder", "another subcommand", "another program", "on a GPU", "of two threads"],
)
def test_what_is_not_forked(server, environment, command, other):
    changed = {name: value for name, value in (environment | other).items() if value is not None}
    assert forkserver.fork(command, changed) is None


def test_one_server_has_one_environment_study_and_library(tmp_path):
    study = tmp_path / "study.yaml"
    study.write_text("numerics: portable\n")
    keys = {forkserver._key(subcommand, str(study), {}) for subcommand in ("train", "generate")}
    keys.add(forkserver._key("train", str(study), {"OMP_NUM_THREADS": "1"}))
    study.write_text("numerics: native\n")
    keys.add(forkserver._key("train", str(study), {}))
    assert len(keys) == 4


def test_a_server_that_cannot_import_leaves_the_job_to_itself(environment, tmp_path):
    study = tmp_path / "study.yaml"
    study.write_text("no study\n")
    assert forkserver.fork(["ict", "train", "--study", str(study)], environment | {"CUDA_VISIBLE_DEVICES": ""}) is None
    assert "study.yaml" in "".join(file.read_text() for file in Path(environment[forkserver.FOLDER]).glob("*.out"))
    assert supervise.forked(["ict", "plan"]) is None


@pytest.mark.slow
def test_the_ledger_by_a_server_is_the_stored_one(environment, tmp_path):
    """That a server changes nothing; whether the ledger is right is for tests/evidence/test_ledger.py."""
    stored = REPOSITORY / "results/reference/smollm2"
    options = ["--stored", str(stored), "--results", str(tmp_path), "--claims", str(REPOSITORY / "configs/claims.yaml")]
    given = environment | {"CUDA_VISIBLE_DEVICES": ""}
    with socket.socket(socket.AF_UNIX) as ended:  # what a server leaves that has ended
        ended.bind(str(address_of(given)))
    for name in ("statistics", "claims"):
        job = forkserver.fork(["ict", name, *options], given)
        assert job is not None
        ends = []
        waited_for(lambda job=job, ends=ends: ends.append(job.end()) or ends[-1] is not None)
        assert ends[-1][0] == 0 and ends[-1][1] > 50  # MiB, of what the server had imported
    assert (tmp_path / "claims.json").read_bytes() == (stored / "claims.json").read_bytes()
