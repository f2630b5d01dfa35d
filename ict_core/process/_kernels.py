"""CPU kernels for torch that give the same bits on every vendor's processor: roots by numpy, products by OpenBLAS.

torch takes square roots from MKL. MKL's code for all vendors starts from RSQRTPS, an approximation whose last bits
differ by vendor, and one in six of the resulting roots is not the nearest number. So the standard deviations of
rewards, by which advantages are divided, differed between an Intel and an AMD processor (docs/log.md). numpy takes the
processor's own roots, which are exact, as IEEE 754 requires. MKL's logarithms to base 2 and 10, and its float64
logarithms, start likewise from RCPPS. Of these the float64 ones are used, by `steer` and by sampling with
transformers: their last bits may differ too, and so, rarely, a rounded weight.

MKL's common branch also lacks fused multiply-add; numpy's OpenBLAS takes half its time for a matrix product. OpenBLAS
is held to its Haswell kernels, which Intel's and AMD's processors share. The block sizes are constants of these
kernels, so no cache size decides where a sum is split. The number of threads does: it is torch's, which the study
states.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_roots: Any = None  # the torch library with numpy's square roots; None while torch's own are in force
_products: Any = None
_threads = 0  # OpenBLAS's number of threads, as last set here
_tell: Callable[[int], object]  # sets it


def hold_roots() -> None:
    """Take square roots from numpy; repeated calls cost nothing."""
    global _roots
    if _roots is None:
        _roots = _held({"sqrt": _root, "sqrt_": lambda x: x.copy_(_root(x)), "sqrt.out": _root_into})


def release_roots() -> None:
    """Give torch its own square roots back."""
    global _roots
    if _roots is not None:
        _roots._destroy()
        _roots = None


def roots_are_exact() -> bool:
    """Whether :func:`hold_roots` is in force."""
    return _roots is not None


@contextmanager
def held_products(set_threads: Callable[[int], object]) -> Iterator[None]:
    """Compute products of float32 matrices by numpy, on as many threads as torch has; no effect if that is in force.

    ``set_threads`` sets OpenBLAS's number of threads.
    """
    global _products, _threads, _tell
    if _products is not None:
        yield
        return
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
    native = {name: torch.library.get_kernel(f"aten::{name}", "CPU") for name in kernels}
    _products = _held({name: _of_floats(kernel, native[name]) for name, kernel in kernels.items()}, with_keyset=True)
    try:
        yield
    finally:
        _products._destroy()
        _products = None


def products_are_held() -> bool:
    """Whether :func:`held_products` is in force."""
    return _products is not None


def _held(kernels: Mapping[str, Callable[..., Any]], with_keyset: bool = False) -> Any:
    """A torch library that replaces torch's own kernels by these, for as long as the library is kept."""
    import warnings

    import torch

    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch warns that a kernel replaces another one
        for name, kernel in kernels.items():
            library.impl(name, kernel, "CPU", with_keyset=with_keyset)
    return library


def _root(x: Any) -> Any:
    import numpy as np
    import torch

    if x.dtype not in (torch.float32, torch.float64):
        half = x.dtype in (torch.float16, torch.bfloat16)
        return _root(x.float()).to(x.dtype) if half else x.pow(0.5) if x.is_complex() else _root(x.float())
    with np.errstate(invalid="ignore"):  # NaN for negative numbers, as in torch
        return torch.from_numpy(np.asarray(np.sqrt(x.detach().numpy())))


def _root_into(x: Any, *, out: Any) -> Any:
    if out.shape != x.shape:
        out.resize_(x.shape)
    return out.copy_(_root(x))


def _of_floats(kernel: Callable[..., Any], other: Any) -> Callable[..., Any]:
    """The kernel for float32, torch's own (``other``) for every other type."""
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
    """The product, written into memory of torch, whose alignment is the same in every run."""
    global _threads
    import numpy as np
    import torch

    if (threads := torch.get_num_threads()) != _threads:
        _tell(threads)
        _threads = threads
    np.matmul(_array(a), _array(b), out=out.detach().numpy())
    return out


def _array(x: Any) -> Any:
    """The numpy array of a tensor, copied only if neither its rows nor its columns are contiguous, as BLAS requires."""
    return (x if 1 in x.stride()[-2:] else x.contiguous()).detach().numpy()
