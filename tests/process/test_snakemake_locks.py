"""Snakemake's locks go when their run has gone, and stay as long as one lives."""

import subprocess
import sys

import pytest

from ict_core.process import has_run, hold_folder

HOLD = """
import sys
from pathlib import Path
from ict_core.process import hold_folder
hold_folder(Path(sys.argv[1]), keep=True)
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
        processes.append(subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdin=pipe, stdout=pipe))
        processes[-1].stdout.readline()
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("keep", [False, True], ids=["a dry run", "a run"])
def test_locks_of_a_killed_run_are_removed_once_no_other_run_is_there(tmp_path, run, keep):
    first, second = run(), run()
    locks = tmp_path / "locks/0.output.lock"
    for killed in (first, second):
        hold_folder(tmp_path, keep=False)
        assert locks.exists() and has_run(tmp_path)
        killed.kill()
        killed.wait()
    assert locks.exists() and not has_run(tmp_path)
    hold_folder(tmp_path, keep)
    assert not locks.exists()
    assert has_run(tmp_path) == keep


def test_a_folder_in_which_no_run_was_tells_nothing(tmp_path):
    assert has_run(tmp_path)
