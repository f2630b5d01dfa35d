"""A test that needs what requirements/system.txt lists and is not here is skipped, with the mend, or fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import system

LACKING = """
import pytest
import system

@pytest.mark.parametrize("package", ["absent", "absent", "also-absent", "here"])
def test_it(package):
    system.listed = lambda: {"here": ["python3|sh"], "absent": ["no_such"], "also-absent": ["module:no_such"]}
    system.needs(package)
"""


def run(folder: Path, *arguments: str, **environment: str) -> list[str]:
    """What pytest with this project's conftest prints of four tests, three of which need what is not here."""
    (folder / "test_lacking.py").write_text(LACKING)
    environment = {k: v for k, v in os.environ.items() if k not in ("REQUIRE_ALL", "PYTEST_ADDOPTS")} | environment
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-rs", *arguments, folder],
        env=environment | {"PYTHONPATH": str(Path(__file__).parent)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("processes", ["0", "2"])
def test_each_skip_has_its_line_and_the_end_has_one_for_all(tmp_path, processes):
    lines = run(tmp_path, "-n", processes)
    assert "1 passed, 3 skipped" in lines[-1]
    reasons = [line.partition(": ")[2] for line in lines if line.startswith("SKIPPED")]
    assert {f"{system.INSTALL} absent", f"{system.INSTALL} also-absent"} == set(reasons)
    assert [line for line in lines if "for the tests that were skipped" in line] == [lines[-2]]
    assert lines[-2].endswith(f": {system.INSTALL} absent also-absent")


def test_where_all_must_be_here_none_is_skipped(tmp_path):
    lines = run(tmp_path, REQUIRE_ALL="1")
    assert "3 failed, 1 passed" in lines[-1]
    assert any(line.endswith(f"Failed: {system.INSTALL} also-absent") for line in lines)


def test_a_package_is_missing_where_one_of_its_parts_is(tmp_path, monkeypatch):
    (tmp_path / "kpsewhich").write_text('#!/bin/sh\n[ "$1" = here.sty ]\n')
    (tmp_path / "kpsewhich").chmod(0o755)
    monkeypatch.setattr(system, "PATH", str(tmp_path))
    monkeypatch.setattr(system, "LIST", tmp_path / "list")
    (tmp_path / "list").write_text(
        "# a comment\n"
        "program none|kpsewhich   # why\nno-program kpsewhich none\n"
        "library library:libc.so.6\nno-library library:libnone.so.6\n"
        "module module:json\nno-module module:none\n"
        "no-header header:none.h\n"
        "latex latex:here.sty\nno-latex latex:none.sty\n"
    )
    assert system.missing() == ["no-program", "no-library", "no-module", "no-header", "no-latex"]
    assert system.missing(["module", "no-module"]) == ["no-module"]
    (tmp_path / "kpsewhich").unlink()
    assert system.missing(["latex"]) == ["latex"]


def test_every_package_of_the_list_has_a_part_and_a_reason():
    lines = [line for line in system.LIST.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == len(system.listed()) and all(system.listed().values())
    assert all(line.partition("#")[2].strip() for line in lines)
