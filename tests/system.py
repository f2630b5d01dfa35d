"""Debian's packages that tests need, of requirements/system.txt; run as a program, it prints those that are missing."""

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from contextlib import suppress
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


def chromium() -> str | None:
    """The browser, by whichever name it is here."""
    needs("chromium")
    return program(*listed()["chromium"])


def missing(packages: Iterable[str] = ()) -> list[str]:
    """Those of the packages, of the whole list if none is named, of which something is not here."""
    parts = listed()
    return [package for package in packages or parts if not all(map(is_there, parts[package]))]


def listed() -> dict[str, list[str]]:
    """What tells that a package is there, by package."""
    lines = (line.partition("#")[0].split() for line in LIST.read_text(encoding="utf-8").splitlines())
    return {package: parts for package, *parts in filter(None, lines)}


def is_there(part: str) -> bool:
    """Whether this machine has a program, or what stands before a colon: a library, module, header of C, LaTeX file."""
    kind, _, name = part.rpartition(":")
    if kind == "library":
        with suppress(OSError):
            return bool(ctypes.CDLL(name))
        return False
    if kind == "module":
        return find_spec(name) is not None
    if kind == "header":
        return (Path("/usr/include") / name).is_file()
    if kind == "latex":
        search = program("kpsewhich")
        return bool(search) and subprocess.run([search, name], stdout=subprocess.DEVNULL).returncode == 0
    return program(name) is not None


def program(names: str) -> str | None:
    """Where the first of these programs is that is here."""
    return next(filter(None, (shutil.which(name, path=PATH) for name in names.split("|"))), None)


def named(reasons: Iterable[object]) -> list[str]:
    """The packages that reasons of skipped tests name."""
    found = re.findall(f"{INSTALL} ([\\w .+-]+)", "\n".join(map(str, reasons)))
    return sorted({package for packages in found for package in packages.split()})


if __name__ == "__main__":
    print(*missing())
