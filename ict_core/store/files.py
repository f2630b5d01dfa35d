"""Files and folders that appear whole or not at all, and their SHA-256."""

import functools
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ict_core.errors import UserError
from ict_core.store.layout import MANIFEST


@contextmanager
def appearing(path: Path, made: str = MANIFEST) -> Iterator[Path]:
    """Yield ``<path>.partial``, which replaces ``path`` if the block ends without error and is removed otherwise.

    What is written there, a file or a folder, is on the disk before it gets its name. Missing parents are made. What a
    killed job left under the partial name is removed first. UserError: a folder that no job made has the name: one with
    files, but without the file `made`.
    """
    check_free(path, made)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = partial_of(path)
    for leftover in (partial, _replaced(path)):
        remove(leftover)
    try:
        yield partial
        settle(partial, path)
    except BaseException:
        remove(partial)
        raise


def check_free(path: Path, made: str = MANIFEST) -> None:
    """UserError: a folder with files is there, and no job made it, as the file `made` is not among them."""
    if path.is_dir() and any(path.iterdir()) and not (path / made).exists():
        raise UserError(f"{path}: a folder is there, with files that no job made; allowed: a name that is free")


def partial_of(path: Path) -> Path:
    """The path at which a file or folder is written before it gets its name."""
    return path.with_name(path.name + ".partial")


def settle(partial: Path, path: Path) -> None:
    """Give a complete file or folder its name, by an atomic rename after all of it is on the disk.

    A folder takes the place of a folder, and a file that of a file. UserError: a file would take that of a folder.
    """
    if path.is_dir() and not partial.is_dir():
        raise UserError(f"{path}: a folder is there; allowed: the name of a file")
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
    """Write a text file by :func:`appearing`."""
    with appearing(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def _replaced(path: Path) -> Path:
    """The path of a folder while another takes its name."""
    return path.with_name(path.name + ".old.partial")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def hash_file(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal; a process reads a file again only if it has changed."""
    status = path.stat()
    return _hash_once(path.resolve(), status.st_ino, status.st_size, status.st_mtime_ns)


@functools.cache
def _hash_once(path: Path, *_: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_weights(folder: Path) -> str:
    """The SHA-256 of a checkpoint's weights: of its one safetensors file, or :func:`hash_tree` of all shards."""
    shards = sorted(folder.glob("*.safetensors"))
    if not shards:
        raise UserError(f"{folder}: no *.safetensors there; rerun the stage that makes this checkpoint")
    return hash_file(shards[0]) if len(shards) == 1 else hash_tree(shards)


def hash_tree(paths: Iterable[Path]) -> str:
    """One SHA-256 over files and folders: of the names inside each path, and of the bytes.

    The location and the order of the paths do not count, nor do `__pycache__` and hidden files. FileNotFoundError if a
    path does not exist (a fingerprint of nothing would never change).
    """
    entries = sorted((name, hash_file(file)) for path in paths for name, file in _files(path))
    return hashlib.sha256(json.dumps(entries).encode()).hexdigest()


def _files(path: Path) -> Iterator[tuple[str, Path]]:
    """Each file, and its path from the name of `path` on, such as `selection/stapo.py`."""
    path = path.resolve(strict=True)
    for file in [path] if path.is_file() else path.rglob("*"):
        name = file.relative_to(path.parent)
        ignored = any(part == "__pycache__" or part.startswith(".") for part in name.parts[1:])
        if file.is_file() and not ignored:
            yield name.as_posix(), file
