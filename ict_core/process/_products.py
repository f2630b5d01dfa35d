"""Matrix products of torch on the CPU by numpy's OpenBLAS, in half of the time that MKL's common branch takes.

That branch has no fused multiply-add. OpenBLAS is held to its kernels for Haswell, which Intel's and AMD's processors
share, and the sizes of its blocks are constants of these kernels, so no cache's size decides where a sum is cut. The
number of threads does: it is torch's, which the study states.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_library: Any = None  # torch's, which holds what was registered; None while torch's own products are in force
_threads = 0  # of OpenBLAS, as far as it was told here
_tell: Callable[[int], object]  # tells it


@contextmanager
def held_products(set_threads: Callable[[int], object]) -> Iterator[None]:
    """Products of float32 matrices by numpy, on as many threads as torch has, until the end; nothing where they are.

    ``set_threads`` tells OpenBLAS how many.
    """
    global _library, _threads, _tell
    if _library is not None:
        yield
        return
    import warnings

    import torch

    _threads, _tell = 0, set_threads
    kernels: dict[str, Callable[..., Any]] = {
        "mm": _mm,
        "mm.out": _mm_out,
        "bmm": _mm,
        "addmm": _addmm,
        "addmm_": _addmm_in_place,
        "baddbmm": _addmm,
    }
    _library = torch.library.Library("aten", "IMPL")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that a kernel is registered in the place of another
            for name, kernel in kernels.items():
                other = torch.library.get_kernel(f"aten::{name}", "CPU")
                _library.impl(name, _of_floats(kernel, other), "CPU", with_keyset=True)
        yield
    finally:
        _library._destroy()
        _library = None


def products_are_held() -> bool:
    """Whether :func:`held_products` is in force."""
    return _library is not None


def _of_floats(kernel: Callable[..., Any], other: Any) -> Callable[..., Any]:
    """That kernel for float32, torch's own for every other type."""
    import torch

    def chosen(keys: Any, *tensors: Any, **factors: Any) -> Any:
        if all(x.dtype == torch.float32 for x in tensors):
            return kernel(*tensors, **factors)
        return other.call_boxed(keys, *tensors, **factors)

    return chosen


def _mm(a: Any, b: Any) -> Any:
    return _into(a.new_empty((*a.shape[:-1], b.size(-1))), a, b)


def _mm_out(a: Any, b: Any, *, out: Any) -> Any:
    return _into(out.resize_(a.size(0), b.size(1)), a, b)


def _addmm(added: Any, a: Any, b: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    product = _mm(a if alpha == 1 else a * alpha, b)
    return product if beta == 0 else product.add_(added, alpha=beta)


def _addmm_in_place(added: Any, a: Any, b: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    if beta == 0:
        return _into(added, a if alpha == 1 else a * alpha, b)
    return added.copy_(_addmm(added, a, b, beta=beta, alpha=alpha))


def _into(out: Any, a: Any, b: Any) -> Any:
    """The product, in memory of torch's, whose alignment is the same in every run."""
    global _threads
    import numpy as np
    import torch

    if (threads := torch.get_num_threads()) != _threads:
        _tell(threads)
        _threads = threads
    np.matmul(_array(a), _array(b), out=out.detach().numpy())
    return out


def _array(x: Any) -> Any:
    """Without a copy, unless neither rows nor columns lie one number after the other, for which BLAS has no name."""
    return (x if 1 in x.stride()[-2:] else x.contiguous()).detach().numpy()
