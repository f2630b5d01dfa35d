"""The finished smoke study that several files' tests look at."""

import fcntl
import os
from pathlib import Path

import pytest
from repository_copy import ODD, Copy


@pytest.fixture
def fresh(tmp_path) -> Copy:
    """A copy in which nothing has run."""
    return Copy(tmp_path)


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory) -> Path:
    """A copy in which the smoke study has run, one for all of pytest's processes; not to be changed.

    Its folder has a name that a shell would take apart, or run.
    """
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    done = base / "uninterrupted"
    with (base / "uninterrupted.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder = tmp_path_factory.mktemp("smoke")
            copy = Copy(folder / ODD)
            printed = copy.made("--config=study=smoke")
            assert "main table  results/smoke/tables/main.md" in printed
            assert "begin with  results/smoke/overview.html" in printed
            assert [*folder.rglob("pwned")] == []
            done.symlink_to(copy.folder)
    return done.resolve()
