"""Snakemake's locks go when their run has gone, and stay as long as one lives."""

import subprocess
import sys

import pytest

HOLD = """
import sys
from pathlib import Path
from ict_core.process.snakemake import hold_folder
print(hold_folder(Path(sys.argv[1])), flush=True)
"""
RUN = f"""
{HOLD}
Path(sys.argv[1], "locks").mkdir(exist_ok=True)
Path(sys.argv[1], "locks/0.output.lock").write_text("results\\n")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def run(tmp_path):
    """Starts runs that have locked Snakemake's folder."""
    processes = []

    def start() -> subprocess.Popen:
        pipe = subprocess.PIPE
        process = subprocess.Popen([sys.executable, "-c", RUN, tmp_path], stdin=pipe, stdout=pipe, text=True)
        processes.append(process)
        while process.stdout.readline() != "held\n":
            assert process.poll() is None
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def is_alone(folder) -> str:
    """What a further run is told of the folder, which it leaves at once."""
    return subprocess.run([sys.executable, "-c", HOLD, folder], check=True, capture_output=True, text=True).stdout


def test_locks_of_a_killed_run_are_removed_once_no_other_run_is_there(tmp_path, run):
    first, second = run(), run()
    locks = tmp_path / "locks/0.output.lock"
    for killed in (first, second):
        assert is_alone(tmp_path) == "False\n" and locks.exists()
        killed.kill()
        killed.wait()
    assert is_alone(tmp_path) == "True\n" and not locks.exists()
