"""SHA-256 of files, folders and checkpoints."""

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from ict_core.errors import UserError


def hash_file(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal; a process reads a file once, unless it has changed since."""
    status = path.stat()
    return _hash_once(path.resolve(), status.st_ino, status.st_size, status.st_mtime_ns)


@functools.cache
def _hash_once(path: Path, *_: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_weights(folder: Path) -> str:
    """The SHA-256 of a checkpoint's weights: of its one safetensors file, or :func:`hash_tree` of all shards.

    Raises:
        UserError: the folder holds no safetensors file.
    """
    shards = sorted(folder.glob("*.safetensors"))
    if not shards:
        raise UserError(f"{folder}: no *.safetensors there; rerun the stage that makes this checkpoint")
    return hash_file(shards[0]) if len(shards) == 1 else hash_tree(shards)


def hash_tree(paths: Iterable[Path]) -> str:
    """One SHA-256 over files and folders: of the names inside each path, and of the bytes.

    Where a path lies does not count, nor do the order of the paths, `__pycache__`, and hidden files.

    Raises:
        FileNotFoundError: a path does not exist (a fingerprint of nothing would never change).
    """
    entries = sorted((name, hash_file(file)) for path in paths for name, file in _files(path))
    return hashlib.sha256(json.dumps(entries).encode()).hexdigest()


def _files(path: Path) -> Iterator[tuple[str, Path]]:
    """Each file with its name from the path's own name on: `selection/stapo.py`."""
    path = path.resolve(strict=True)
    for file in [path] if path.is_file() else path.rglob("*"):
        name = file.relative_to(path.parent)
        ignored = any(part == "__pycache__" or part.startswith(".") for part in name.parts[1:])
        if file.is_file() and not ignored:
            yield name.as_posix(), file
