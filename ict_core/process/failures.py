"""Explains exceptions of Python and libraries to a study's user: what failed, where, and the remedy, in one message."""

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

from ict_core.errors import UserError

LEAST_MIB = 100  # free space that a run needs to begin
FULL = "the disk is full; free some space (results/cache may be deleted)"

_KEPT = "What was finished is kept; run the same command again"
_LIMIT = "too many open files; raise the limit (ulimit -n)"
_DISK = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: "the disk quota is used up; free some space (results/cache may be deleted)",
    errno.EFBIG: "the file is larger than the file system or the limit (ulimit -f) allows; raise it",
    errno.EROFS: "the file system is read-only; mount it for writing, or make the folder a link to another",
    errno.EACCES: "permission denied; give this user the right to it (chown, chmod)",
    errno.EPERM: "permission denied; give this user the right to it (chown, chmod)",
    errno.EIO: "the disk cannot be read or written; dmesg tells more",
    errno.EISDIR: "a folder stands where a file is wanted; name a file",
    errno.ENOTDIR: "a file stands where a folder is wanted; name a folder",
    errno.ENAMETOOLONG: "the name is longer than the file system allows; name a shorter one",
    errno.ELOOP: "a link leads to itself; mend it",
    errno.EMFILE: _LIMIT,
    errno.ENFILE: _LIMIT,
}
DISK_ERRORS = frozenset(_DISK)
_HUB_SECONDS = 10.0
_BUSY = (408, 425, 429)  # HTTP status codes
_OS_ERROR = re.compile(r"\(os error (\d+)\)")  # in errors of safetensors and tokenizers
_TORCH_WRITES = re.compile(r"inline_container\.cc|PytorchStreamWriter")
_TORCH_MEMORY = re.compile("DefaultCPUAllocator|not enough memory|std::bad_alloc|unable to mmap|Cannot allocate memory")
_GPU_MEMORY = re.compile(r"CUDA out of memory|No available memory for the cache blocks|Free memory on device")
_GPU_LOST = re.compile(
    r"CUDA error: (unspecified launch failure|an illegal|uncorrectable ECC|device .*unavailable|unknown error|"
    r"the launch timed out)|NCCL error|device lost|GPU is lost|Engine core initialization failed"
)
_LESS = {  # what to lower to save memory, by subcommand
    "train": "micro_batch_sequences (of the recipe, or of the model's hardware; gradient_checkpointing helps too)",
    "generate": "evaluation.max_new_tokens, or VLLM_CPU_KVCACHE_SPACE (GiB) where vLLM runs on the CPU",
    "grade": "grading.memory_mib, or the number of workers",
    "pretrain": "batch_sequences of the model's pretraining",
}


def explain(error: BaseException, stage: str, where: Path | None = None) -> UserError | None:
    """The explanation of an exception of the subcommand `stage`, from it or from its causes; None if none is known.

    `where` is the path that the subcommand writes, for an exception that names no file.
    """
    for cause in _causes(error):
        explained = _write_failure(cause, where) or _memory(cause, stage) or _engine(cause)
        if explained is not None:
            return explained
    return None


def lost_connection(error: BaseException) -> bool:
    """Whether a download failed for a reason that may pass: no route, a time-out, a server overloaded or down."""
    for cause in _causes(error):
        kinds = {kind.__name__ for kind in type(cause).__mro__}
        if "OfflineModeIsEnabled" in kinds:
            return False
        status = getattr(getattr(cause, "response", None), "status_code", 0)
        if kinds & {"ConnectionError", "TimeoutError", "TransportError"} or status in _BUSY or status >= 500:
            return True
    return False


def hub_error() -> Exception | None:
    """The error of a single request to the hub; None if the hub answers."""
    import httpx
    from huggingface_hub.constants import ENDPOINT

    try:
        httpx.head(ENDPOINT, timeout=_HUB_SECONDS, follow_redirects=True)
    except httpx.HTTPError as error:
        return error
    return None


def check_room(folder: Path) -> None:
    """Raise a UserError, before any job, if a folder cannot be written or has less than :data:`LEAST_MIB` free."""
    existing = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    if not existing.exists():
        raise UserError(f"{folder}: {existing} is a link, and nothing is at {existing.resolve()}; make that folder")
    if not existing.is_dir():
        raise UserError(f"{folder}: {existing.resolve()}: {_DISK[errno.ENOTDIR]}")
    space = os.statvfs(existing)
    if not os.access(existing, os.W_OK | os.X_OK):
        fault = errno.EROFS if space.f_flag & os.ST_RDONLY else errno.EACCES
        raise UserError(f"{folder}: {existing.resolve()}: {_DISK[fault]}")
    free = space.f_bavail * space.f_frsize // 2**20
    if free < LEAST_MIB:
        raise UserError(f"{folder}: only {free} MiB are free there and {LEAST_MIB} are needed to begin; {FULL}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)


def _write_failure(error: BaseException, where: Path | None) -> UserError | None:
    number = error.errno if isinstance(error, OSError) else None
    if number is None and (match := _OS_ERROR.search(str(error))):
        number = int(match[1])
    if number is None and os.strerror(errno.EMFILE) in str(error):  # from torch's Gloo, which a vLLM engine starts
        number = errno.EMFILE
    if number is None and isinstance(error, RuntimeError) and _TORCH_WRITES.search(str(error)):
        return UserError(f"{where or 'a checkpoint'}: torch cannot write it; most likely {FULL}. {_KEPT}")
    if number not in _DISK:
        return None
    file = getattr(error, "filename", None) or where
    return UserError(f"{f'{file}: ' if file else ''}{_DISK[number]}. {_KEPT} [{os.strerror(number)}]")


def _memory(error: BaseException, stage: str) -> UserError | None:
    text = str(error)
    device = type(error).__name__ == "OutOfMemoryError" or bool(_GPU_MEMORY.search(text))
    host = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    if not (device or host or (isinstance(error, RuntimeError) and _TORCH_MEMORY.search(text))):
        return None
    first = " ".join(text.split(". ")[0].split())[:200]
    what = "the GPU is out of memory" if device else "out of memory"
    mends = [f"lower {_LESS[stage]}"] if stage in _LESS else []
    if not device:
        mends += ["give the job more (hardware.memory_gib of the model's file), or let fewer run at a time (--cores)"]
    return UserError(f"{what}{f' ({first})' if first else ''}; {'; '.join(mends) or 'use a larger GPU'}. {_KEPT}")


def _engine(error: BaseException) -> UserError | None:
    text = " ".join(str(error).split())[:300]
    if type(error).__name__ == "EngineDeadError":
        return UserError(f"the vLLM engine died ({text}). {_KEPT}")
    if isinstance(error, RuntimeError) and _GPU_LOST.search(text):
        return UserError(f"the GPU or its engine failed ({text}); nvidia-smi tells its state. {_KEPT}")
    return None
