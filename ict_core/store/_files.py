"""Files and folders that appear whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """Yield ``<path>.partial``, which takes the place of ``path`` if the block ends well and is removed if it does not.

    What is written there, a file or a folder, is on the disk before its name is. Missing parents are made; what a
    killed job left under the partial name is removed first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = partial_of(path)
    for left in (partial, _replaced(path)):
        remove(left)
    try:
        yield partial
        settle(partial, path)
    except BaseException:
        remove(partial)
        raise


def partial_of(path: Path) -> Path:
    """Where a file or folder is written before it has its name."""
    return path.with_name(path.name + ".partial")


def settle(partial: Path, path: Path) -> None:
    """Give a file or folder that is whole its name, by an atomic rename after all of it is on the disk.

    A folder of that name is moved away first; a file is replaced.
    """
    for written in [*partial.rglob("*"), partial]:
        _sync(written)
    if path.is_dir():
        old = _replaced(path)
        remove(old)
        path.replace(old)
        partial.replace(path)
        remove(old)
    else:
        partial.replace(path)
    _sync(path.parent)


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with all that is in it, if there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text that appears whole; missing folders are made."""
    with appearing(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def _replaced(path: Path) -> Path:
    """Where a folder lies while another takes its name."""
    return path.with_name(path.name + ".old.partial")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
