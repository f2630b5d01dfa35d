"""Makes imports and memory cheaper for a command: optional packages, garbage collection, metadata, page faults."""

import ctypes
import functools
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_NEED = {"scipy": ("sklearn",)}  # packages that transformers imports if present, and that need the key
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4  # from malloc.h


@contextmanager
def loading(*, without: tuple[str, ...] = ()) -> Iterator[None]:
    """Context of the imports of a heavy stage, and of whatever else it makes to keep.

    Inside it no garbage is collected. Objects that exist at its end are left out of all later collections, the last one
    at exit included: of the million objects that torch and transformers make almost none is garbage, and the collector
    would read all of them again and again. transformers and TRL each read the file lists of all installed packages; the
    second one gets what the first has found. The packages in `without`, and those that need them, count as not
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
    """Keep freed memory in the process: with glibc, serve large tensors from the heap and never trim it.

    A training step frees and takes the same hundreds of megabytes again and again: page faults were 12 % of its time.
    """
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
        mallopt(_M_TOP_PAD, 64 * 2**20)
