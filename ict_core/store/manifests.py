"""The origin of a result: versions, machine, commit, hashes. No user name or absolute path."""

import contextlib
import dataclasses
import functools
import hashlib
import json
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from ict_core.errors import Damaged, UserError
from ict_core.process import numerics
from ict_core.process.machine import core_packages, this_platform, this_process
from ict_core.store.files import hash_file, hash_tree, write_text
from ict_core.store.layout import MANIFEST

# an engine's settings that name its process, its place, or its state
_LEFT_OUT = {"instance_id", "model", "tokenizer", "served_model_name", "static_forward_context"}
_ADDRESSES = ("_ip", "_port", "_ports", "_host", "_addr", "_path", "_dir")
_SOURCE = Path(__file__).parents[1]
_GIT_SECONDS = 10


def manifest(config: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest that a stage writes beside its results, once it has them all.

    `config` is the resolved configuration that determined them, as JSON-able values. UserError: see `numerics.check`.
    """
    numerics.check()
    return {
        "config": dict(config),
        "packages": core_packages(),
        "python": platform.python_version(),
        "platform": this_platform(),
        "process": this_process(),
        "source": {**source(), "loaded": _loaded()},
        "exit_status": 0,  # a job that ends otherwise has no manifest: its log says why
    }


@functools.cache
def source() -> dict[str, Any]:
    """The library's commit, the state of its tree and its SHA-256, as at the first call in this process."""
    return {**git_state(_SOURCE), "sha256": hash_tree([_SOURCE])}


def remember_source() -> None:
    """Hash the library's files now, at a job's start: the job does not run what is edited later."""
    numerics.check()
    source()
    for path in _SOURCE.rglob("*.py"):
        _first_hash(path)


@functools.cache
def _first_hash(path: Path) -> str:
    """The first 16 digits of a file's SHA-256, as at the first call in this process."""
    return hash_file(path)[:16]


def _loaded() -> dict[str, str]:
    """The library's files that this process has imported, with their hashes."""
    files = {Path(m.__file__) for n, m in list(sys.modules.items()) if n.split(".")[0] == "ict_core" and m.__file__}
    return {path.relative_to(_SOURCE).as_posix(): _first_hash(path) for path in sorted(files)}


def cost(started: float, tokens: int) -> dict[str, Any]:
    """The cost of a stage: `tokens`, `wall_seconds`, and peak memory in MiB, of the process and of the GPU (or None).

    `started` is `time.perf_counter()` when the stage began; `tokens` are those it trained on or generated.
    """
    torch = sys.modules.get("torch")
    gpu = torch and torch.cuda.is_available()
    return {
        "tokens": tokens,
        "wall_seconds": round(time.perf_counter() - started, 1),
        "peak_memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "peak_gpu_memory_mib": round(torch.cuda.max_memory_allocated() / 2**20, 1) if torch and gpu else None,
    }


def git_state(folder: Path) -> dict[str, Any]:
    """`commit` and `dirty` (changed or untracked files) of a folder; None outside of git, or if git does not answer."""
    commit = status = None
    with contextlib.suppress(UserError):
        commit = git(folder, "rev-parse", "HEAD")
        status = git(folder, "status", "--porcelain", "--", ".")
    return {"commit": commit, "dirty": None if commit is None or status is None else bool(status)}


def write_json(path: Path, content: Any) -> None:
    """Write JSON with sorted keys; ValueError if a number is NaN or infinite, which JSON does not have."""
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(path, text)


def write_manifest(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON with a ``checksum``, the SHA-256 of all its other content."""
    write_json(path, {**content, "checksum": _checksum(content)})


def read_manifest(path: Path, output: Path | None = None) -> dict[str, Any]:
    """What :func:`write_manifest` wrote, without its checksum; `output`: the stage's output, if the file is part of it.

    Raises:
        UserError: the file is missing, or holds no checksum.
        Damaged: it is not JSON, or its content is not what was written.
    """
    try:
        content = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"{path}: no such file; run the stage that writes it") from error
    except IsADirectoryError as error:
        raise Damaged(f"{path}: a folder stands where a file is wanted", output or path) from error
    except (ValueError, RecursionError) as error:  # not JSON, or not UTF-8
        raise Damaged(f"{path}: not JSON ({error})", output or path) from error
    if not isinstance(content, dict) or "checksum" not in content:
        raise UserError(f"{path}: it holds no checksum, so another version wrote it; delete it and rerun its stage")
    if content.pop("checksum") != _checksum(content):
        raise Damaged(f"{path}: its content is not what was written (SHA-256)", output or path)
    return content


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def file_hashes(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file below a folder except its manifest, by relative path: the manifest's key `files`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST)
    return {path.relative_to(folder).as_posix(): hash_file(path) for path in files}


def check_files(folder: Path) -> dict[str, Any]:
    """The manifest in a checkpoint's folder, or above it; Damaged if a file of the folder is not what it states."""
    return check_output(folder if (folder / MANIFEST).exists() else folder.parent, folder)


def check_output(output: Path, part: Path, since: float = 0.0) -> dict[str, Any]:
    """As :func:`check_files`, for `part` of a job's folder; files that have not changed after `since` are not read."""
    stated = read_manifest(output / MANIFEST, output)
    if not isinstance(stated.get("files"), dict):
        raise UserError(f"{output / MANIFEST}: it names no files, so that it is no manifest of a checkpoint")
    for path, sha256 in ((output / name, sha256) for name, sha256 in stated["files"].items()):
        if path.is_relative_to(part):
            if not path.is_file():
                raise Damaged(f"{path}: no such file, and its manifest names it", output)
            if path.stat().st_mtime > since and hash_file(path) != sha256:
                raise Damaged(f"{path}: its bytes are not those that were written (SHA-256)", output)
    return stated


def git(folder: Path, *arguments: str) -> str | None:
    """The output of a git command in a folder; None if it fails, as outside of git. A UserError if it is too slow."""
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]  # a `git add` beside it goes on
    try:
        output = subprocess.check_output(command, stderr=subprocess.DEVNULL, timeout=_GIT_SECONDS)
    except subprocess.TimeoutExpired as error:
        text = f"{folder}: git {arguments[0]} took over {_GIT_SECONDS} s, so what is committed is unknown; run it again"
        raise UserError(text) from error
    except (OSError, subprocess.SubprocessError):
        return None
    return output.decode(errors="replace").strip()  # UTF-8 in every locale, as files are read


def resolved(value: Any) -> Any:
    """Nested dataclasses, mappings and lists as JSON-able values, without paths, addresses and names of processes.

    Any other object becomes the name of its class.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        names = {str(name): part for name, part in value.items()}
        return {n: resolved(part) for n, part in names.items() if n not in _LEFT_OUT and not n.endswith(_ADDRESSES)}
    if isinstance(value, list | tuple | set | frozenset):
        parts = [resolved(part) for part in value]
        return sorted(parts, key=repr) if isinstance(value, set | frozenset) else parts
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return repr(value)
    if isinstance(value, str):
        return "a path" if value.startswith(("/", "~")) else value
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value) if type(value).__name__ in ("dtype", "device") else type(value).__name__
