"""Where a result comes from: versions, machine, commit, hashes. No user name, absolute path or environment value."""

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

# of an engine's settings, which process it was, where, and what it held
_LEFT_OUT = {"instance_id", "model", "tokenizer", "served_model_name", "static_forward_context"}
_ADDRESSES = ("_ip", "_port", "_ports", "_host", "_addr", "_path", "_dir")
_SOURCE = Path(__file__).parents[1]
_GIT_SECONDS = 10


def manifest(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a stage writes beside its results, once it has them all.

    `config` is the resolved configuration that determined them, as JSON-able values; UserError: see `numerics.check`.
    """
    numerics.check()
    return {
        "config": dict(config),
        "packages": core_packages(),
        "python": platform.python_version(),
        "platform": this_platform(),
        "process": this_process(),
        "source": {**source(), "loaded": _loaded()},
        "exit_status": 0,  # of a job that ends otherwise there is no manifest: its log says why
    }


@functools.cache
def source() -> dict[str, Any]:
    """The library's commit, the state of its tree and its SHA-256, when this was first asked for in the process."""
    return {**git_state(_SOURCE), "sha256": hash_tree([_SOURCE])}


def remember_source() -> None:
    """Take the hashes of the library's files now, at a job's start: an edit while it runs is not what it runs."""
    numerics.check()
    source()
    for path in _SOURCE.rglob("*.py"):
        _first_hash(path)


@functools.cache
def _first_hash(path: Path) -> str:
    """The first 16 digits of a file's SHA-256, as it was when this was first asked for in the process."""
    return hash_file(path)[:16]


def _loaded() -> dict[str, str]:
    """The library's files that this process has imported, with their hashes."""
    files = {Path(m.__file__) for n, m in list(sys.modules.items()) if n.split(".")[0] == "ict_core" and m.__file__}
    return {path.relative_to(_SOURCE).as_posix(): _first_hash(path) for path in sorted(files)}


def cost(started: float, tokens: int) -> dict[str, Any]:
    """What a stage took: `tokens`, `wall_seconds`, and the process's peak memory in MiB (that of the GPU, or None).

    `started` is `time.perf_counter()` when the stage began; the tokens it trained on or generated.
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
    """`commit` and `dirty` (changed or untracked files) of a folder; both None outside of git."""
    commit = git(folder, "rev-parse", "HEAD")
    status = git(folder, "status", "--porcelain", "--", ".")
    return {"commit": commit, "dirty": None if commit is None or status is None else bool(status)}


def write_json(path: Path, content: Any) -> None:
    """Write JSON with sorted keys; ValueError where a number is NaN or infinite, which JSON does not have."""
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(path, text)


def write_manifest(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON that holds, as ``checksum``, the SHA-256 of all else in it."""
    write_json(path, {**content, "checksum": _checksum(content)})


def read_manifest(path: Path, output: Path | None = None) -> dict[str, Any]:
    """What :func:`write_manifest` wrote, without its checksum; `output`: what a stage made as a whole, if it is a part.

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
    except (ValueError, RecursionError) as error:  # of JSON, or of UTF-8
        raise Damaged(f"{path}: not JSON ({error})", output or path) from error
    if not isinstance(content, dict) or "checksum" not in content:
        raise UserError(f"{path}: it holds no checksum, so another version wrote it; delete it and rerun its stage")
    if content.pop("checksum") != _checksum(content):
        raise Damaged(f"{path}: its content is not what was written (SHA-256)", output or path)
    return content


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def file_hashes(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file below a folder but its manifest, by the path from there: what `files` in it is."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST)
    return {path.relative_to(folder).as_posix(): hash_file(path) for path in files}


def check_files(folder: Path) -> dict[str, Any]:
    """The manifest in a checkpoint's folder, or above it; Damaged where a file of the folder is not what it states."""
    return check_output(folder if (folder / MANIFEST).exists() else folder.parent, folder)


def check_output(output: Path, part: Path, since: float = 0.0) -> dict[str, Any]:
    """As :func:`check_files`, of that part of a job's folder; no file is read that was changed last before `since`."""
    stated = read_manifest(output / MANIFEST, output)
    for path, sha256 in ((output / name, sha256) for name, sha256 in stated["files"].items()):
        if path.is_relative_to(part):
            if not path.is_file():
                raise Damaged(f"{path}: no such file, and its manifest names it", output)
            if path.stat().st_mtime > since and hash_file(path) != sha256:
                raise Damaged(f"{path}: its bytes are not those that were written (SHA-256)", output)
    return stated


def git(folder: Path, *arguments: str) -> str | None:
    """What a git command prints in a folder; None where it fails, as outside of git."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.check_output(command, stderr=subprocess.DEVNULL, text=True, timeout=_GIT_SECONDS).strip()
    except (OSError, subprocess.SubprocessError):
        return None


def resolved(value: Any) -> Any:
    """Nested dataclasses, mappings and lists as JSON-able values, without paths, addresses and names of processes.

    Of other objects stands the name of their class.
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
