"""What imports and memory cost, and how a command saves of it: optional packages, garbage, metadata, page faults."""

import ctypes
import functools
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_NEED = {"scipy": ("sklearn",)}  # what transformers imports, and cannot import without
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4  # from malloc.h


@contextmanager
def loading(*, without: tuple[str, ...] = ()) -> Iterator[None]:
    """Around the imports of a heavy stage, and whatever else it makes to keep.

    Meanwhile no garbage is collected, and what is there at the end is left out of all later collections, the last one
    at exit included: of the million objects that torch and transformers make next to none is garbage, and the collector
    reads all of them again and again. transformers and TRL each read the file lists of all installed packages; the
    second one is given what the first has found. The packages in `without`, and those that need them, count as not
    installed in this process from here on: TRL and transformers import every optional package that they find.
    """
    for package in without:
        for name in (package, *_NEED.get(package, ())):
            sys.modules.setdefault(name, None)  # type: ignore[arg-type]  # Python's own mark of "not to be found"
    from importlib import metadata

    if not hasattr(metadata.packages_distributions, "cache_info"):
        metadata.packages_distributions = functools.cache(metadata.packages_distributions)
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collecting:
            gc.enable()


def reuse_freed_memory() -> None:
    """Keep freed memory in the process: serve large tensors from the heap and never trim it, where glibc is.

    A training step frees and takes the same hundreds of megabytes again and again: page faults were 12 % of its time.
    """
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
        mallopt(_M_TOP_PAD, 64 * 2**20)
