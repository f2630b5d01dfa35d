"""Square roots of torch on the CPU, as IEEE 754 has them: the same bits on every vendor's processors.

torch takes them from MKL, whose code for all vendors begins with RSQRTPS, an approximation of which each vendor chooses
the last bits, and of the roots that are made from it one in six is not the nearest number. So deviations of rewards, by
which advantages are divided, differed between an Intel and an AMD processor (docs/log.md). MKL's logarithms to base 2
and 10 and those of float64 begin likewise, with RCPPS; no stored result is made from these.
"""

from typing import Any

_library: Any = None  # torch's, which holds what was registered; None while torch's own roots are in force


def hold_roots() -> None:
    """Take roots from numpy, whose are the processor's own, which are exact; again and again at no cost."""
    global _library
    if _library is not None:
        return
    import warnings

    import torch

    _library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a kernel is registered in the place of another
        for name, root in (("sqrt", _root), ("sqrt_", _root_in_place), ("sqrt.out", _root_into)):
            _library.impl(name, root, "CPU")


def release_roots() -> None:
    """Give torch its own roots back."""
    global _library
    if _library is not None:
        _library._destroy()
        _library = None


def roots_are_exact() -> bool:
    """Whether :func:`hold_roots` is in force."""
    return _library is not None


def _root(x: Any) -> Any:
    import numpy as np
    import torch

    if x.dtype not in (torch.float32, torch.float64):
        half = x.dtype in (torch.float16, torch.bfloat16)
        return _root(x.float()).to(x.dtype) if half else x.pow(0.5) if x.is_complex() else _root(x.float())
    with np.errstate(invalid="ignore"):  # NaN for negative numbers, as in torch
        return torch.from_numpy(np.asarray(np.sqrt(x.detach().numpy())))


def _root_in_place(x: Any) -> Any:
    return x.copy_(_root(x))


def _root_into(x: Any, *, out: Any) -> Any:
    if out.shape != x.shape:
        out.resize_(x.shape)
    return out.copy_(_root(x))
