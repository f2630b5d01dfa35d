"""Keeps freed memory in the process, which glibc would otherwise give back to the kernel at every step."""

import ctypes

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4  # from malloc.h


def reuse_freed_memory() -> None:
    """Serve large tensors from the heap and never trim it; nothing where the C library has no ``mallopt``.

    A training step frees and takes the same hundreds of megabytes again and again: page faults were 12 % of its time.
    """
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
        mallopt(_M_TOP_PAD, 64 * 2**20)
