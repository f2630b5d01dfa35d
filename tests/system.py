"""Debian's packages that tests need, of requirements/system.txt; run as a program, it prints those that are missing."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

LIST = Path(__file__).resolve().parents[1] / "requirements/system.txt"
INSTALL = "apt-get install --no-install-recommends"
PATH = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin"  # daemons lie there, which a user's PATH may lack


def needs(*packages: str) -> None:
    """Skip the test, with the line that mends it, where a package is missing; fail where REQUIRE_ALL is set."""
    import pytest

    if absent := missing(packages):
        verdict = pytest.fail if os.environ.get("REQUIRE_ALL") else pytest.skip
        verdict(f"{INSTALL} {' '.join(absent)}")


def chromium() -> str:
    """The browser, in whichever program it is."""
    needs("chromium")
    return find(*listed()["chromium"])


def missing(packages: Iterable[str] = ()) -> list[str]:
    """Those of the packages, of the whole list if none is named, whose parts are not all here."""
    parts = listed()
    return [name for name in packages or parts if not all(map(find, parts[name]))]


def listed() -> dict[str, list[str]]:
    """What tells that a package is there, by package."""
    lines = (line.partition("#")[0].split() for line in LIST.read_text(encoding="utf-8").splitlines())
    return {package: parts for package, *parts in filter(None, lines)}


def find(part: str) -> str | None:
    """Where a program (the first of several), a Python module or a LaTeX file is."""
    if part.endswith(".sty"):
        return find("kpsewhich") and subprocess.run(["kpsewhich", part], capture_output=True, text=True).stdout
    found = filter(None, (shutil.which(program, path=PATH) for program in part.split("|")))
    return next(found, None) or getattr(find_spec(part), "origin", None)


def named(reasons: Iterable[str]) -> list[str]:
    """The packages that reasons of skipped tests name, in the list's order."""
    words = {word for reason in reasons for line in re.findall(f"{INSTALL} (.*)", reason) for word in line.split()}
    return [package for package in listed() if package in words]


if __name__ == "__main__":
    print(*missing())
