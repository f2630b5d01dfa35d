"""Sets which instructions the numerical libraries use on the CPU.

Each library chooses its kernels by the processor, and kernels of different width or vendor sum in different orders. So
the same training gives other weights on another class of CPU. **portable** numerics hold all libraries to code that
gives the same bytes on every x86-64 CPU with AVX2, Intel's and AMD's, with AVX-512 and without. **portable-avx512**
numerics hold OpenBLAS alone to wider kernels: the same bytes on every x86-64 CPU with AVX-512, and a large model's
products in half the time. **native** numerics leave the libraries their choice. Libraries read it once, on import, so
:func:`use` must come before that.

**deterministic** is for GPUs: two runs of a cell on one kind of GPU with the same packages should give the same bytes.
"""

import ctypes
import importlib
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeGuard

from ict_core.errors import UserError
from ict_core.process._kernels import held_products, hold_roots, products_are_held, release_roots, roots_are_exact

Portable = Literal["portable", "portable-avx512"]
Numerics = Literal[Portable, "native", "deterministic"]

PINS = {
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's own kernels
    # torch's matrix products and its exp and log: MKL has no other branch that Intel's CPUs and others share
    "MKL_CBWR": "COMPATIBLE",
    "ONEDNN_MAX_CPU_ISA": "AVX2",  # the linear layers of vLLM
    "NPY_ENABLE_CPU_FEATURES": "SSSE3 SSE41 POPCNT SSE42 AVX F16C FMA3 AVX2 X86_V3",  # the last: all of them since 2.4
    "OPENBLAS_CORETYPE": "Haswell",  # the linear algebra of numpy and SciPy
    "ARROW_USER_SIMD_LEVEL": "AVX2",
    "TORCHDYNAMO_DISABLE": "1",  # compiled code (vLLM's sampler in a training) is specific to this CPU
}
"""The environment variables of portable numerics. vLLM reads none for its kernels: see :func:`limit_vllm`."""

AVX512_PINS = {**PINS, "OPENBLAS_CORETYPE": "SkylakeX"}
"""Those of `portable-avx512`: the products of a training are OpenBLAS's, and little else takes long."""

DETERMINISTIC = {
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",  # torch's notes ask for it or for :16:8, which vLLM sets on Hopper for itself
    "FLASH_ATTENTION_DETERMINISTIC": "1",  # as in the full determinism of transformers and of verl
    "VLLM_BATCH_INVARIANT": "1",  # a completion does not depend on the others of its batch; it pins NCCL too
}
"""The environment variables of deterministic numerics; :func:`products` sets torch's own algorithms."""

_AGAINST = ("NPY_DISABLE_CPU_FEATURES", "MKL_ENABLE_INSTRUCTIONS", "DNNL_MAX_CPU_ISA")  # removed, as they undo pins
_READERS = ("numpy", "torch", "pyarrow")
_HELD: dict[Numerics, tuple[dict[str, str | None], tuple[str, ...]]] = {  # variables, and who reads them on import
    "portable": ({**PINS, **dict.fromkeys(_AGAINST)}, _READERS),
    "portable-avx512": ({**AVX512_PINS, **dict.fromkeys(_AGAINST)}, _READERS),
    "deterministic": ({**DETERMINISTIC}, ("vllm",)),
    "native": ({}, ()),
}
_AVX2 = {"avx2", "fma", "f16c"}
_NEEDED: dict[Portable, set[str]] = {
    "portable": _AVX2,
    "portable-avx512": {*_AVX2, "avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"},
}
_TELLING = re.compile(r"sse|avx|fma|f16c|amx")  # the CPU flags by which libraries choose
_WIDER = ("_is_avx512_supported", "_is_avx512_bf16_supported", "_is_amx_tile_supported", "_is_amx_fp16_supported",
          "_is_vnni_supported")  # fmt: skip
_CBWR = {1: "off", 2: "auto", 3: "COMPATIBLE"}  # MKL's names of its branches; another one is given by its number
_MEND = "start by the `ict` command, or call ict_core.process.numerics.use before numpy, torch or pyarrow is imported"
_ELSE: dict[Portable, str] = {
    "portable": "state `numerics: native` in the study: its results are then those of this CPU alone",
    "portable-avx512": "state `numerics: portable` in the study: its results are then others",
}
_WANTED = {"torch": "AVX2", "roots": "IEEE 754", "products": "OpenBLAS", "mkl": "COMPATIBLE",
           "numpy": "AVX2", "arrow": "avx2", "vllm": "_C_AVX2"}  # fmt: skip

_chosen: Numerics | None = None
_before: dict[str, str | None] = {}  # values that `use` has replaced


def use(numerics: Numerics) -> None:
    """Set the numerics of the libraries that this process and its children import from here on.

    UserError: this CPU cannot have portable numerics, or a library was imported before its numerics were set.
    """
    global _chosen
    if is_portable(numerics):
        _check_cpu(numerics)
    pins, readers = _HELD[numerics]
    already_set = all(os.environ.get(name) == value for name, value in pins.items())  # by this process, or its parent
    late = [name for name in readers if sys.modules.get(name) is not None]
    if late and not already_set:
        raise UserError(f"numerics: {numerics} was chosen after the import of {', '.join(late)}; {_MEND}")
    for name, value in {**_before, **pins}.items():
        _before.setdefault(name, os.environ.get(name))
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    _chosen = numerics
    check()


def chosen() -> Numerics | None:
    """The numerics of the last :func:`use` in this process; None without one."""
    return _chosen


def is_portable(numerics: str | None) -> TypeGuard[Portable]:
    """Whether numerics give the same bytes on CPUs of every vendor."""
    return numerics in _NEEDED


def check() -> None:
    """Raise a UserError if portable numerics were chosen and an imported library uses other kernels.

    Once torch has been imported, portable numerics take its roots from numpy: see :mod:`ict_core.process._kernels`.
    """
    if not is_portable(_chosen):
        release_roots()
        return
    if _imported("torch", "library") and _imported("torch", "compiler"):
        hold_roots()
    wanted = {**_WANTED, "openblas": _HELD[_chosen][0]["OPENBLAS_CORETYPE"]}
    mismatched = {name: used for name, used in in_force().items() if used != wanted[name]}
    if mismatched:
        message = ", ".join(f"{name} uses {used}, wanted {wanted[name]}" for name, used in mismatched.items())
        raise UserError(f"numerics: {_chosen} was chosen, and {message}; {_MEND}")


def in_force() -> dict[str, str]:
    """What each imported library says that it uses; one that is not imported, or does not say, has no entry."""
    return {name: used for name, tell in _TELL.items() if (used := tell()) is not None}


@contextmanager
def products() -> Iterator[None]:
    """Context of a training: OpenBLAS's matrix products if portable, torch's deterministic algorithms if deterministic.

    For the products see `ict_core.process._kernels`. RuntimeError, by torch: an operation has no such algorithm.
    """
    with ExitStack() as held:
        if _chosen == "deterministic":
            import torch

            held.callback(torch.use_deterministic_algorithms, torch.are_deterministic_algorithms_enabled())
            torch.use_deterministic_algorithms(True)
            held.enter_context(torch.backends.cudnn.flags(deterministic=True, benchmark=False))
        elif is_portable(_chosen):
            importlib.import_module("numpy")  # loads OpenBLAS
            held.enter_context(held_products(_set_openblas_threads))
        yield


def limit_vllm() -> None:
    """If portable, have vLLM load its AVX2 library on import: torch, which it asks, then denies wider instructions."""
    if not is_portable(_chosen):
        return
    import torch

    for name in _WIDER:
        setattr(torch.cpu, name, lambda: False)


@cache
def cpu_flags() -> tuple[str, ...]:
    """The vector instructions that this CPU has, as the kernel names them; empty without Linux."""
    return tuple(sorted(filter(_TELLING.search, cpu_facts("flags").split())))


def cpu_facts(key: str) -> str:
    """The kernel's value of a key for the first CPU; empty without Linux."""
    lines = proc_lines("/proc/cpuinfo")
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")


def proc_lines(path: str) -> list[str]:
    """The lines of one of the kernel's files; none if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _check_cpu(numerics: Portable) -> None:
    mend = f"use another machine, or {_ELSE[numerics]}"
    if platform.machine() != "x86_64":
        raise UserError(f"numerics: {numerics} is for x86-64 CPUs, and this one is {platform.machine()}; {mend}")
    needed = _NEEDED[numerics]
    if lacking := sorted(needed - set(cpu_flags())):
        names, absent = ", ".join(sorted(needed)), ", ".join(lacking)
        raise UserError(f"numerics: {numerics} needs a CPU with {names}, and this one lacks {absent}; {mend}")


def _imported(name: str, attribute: str) -> Any:
    """A module, if its import has come as far as this attribute; otherwise None."""
    module = sys.modules.get(name)
    return module if hasattr(module, attribute) else None


def _torch() -> str | None:
    torch = _imported("torch", "backends")
    return torch.backends.cpu.get_cpu_capability() if torch else None


def _mkl() -> str | None:
    """The branch of the MKL inside torch, by MKL's own function; None for a torch without it."""
    torch = _imported("torch", "backends")
    if torch is None or not torch.backends.mkl.is_available():
        return None
    library = ctypes.CDLL(str(Path(torch.__path__[0]) / "lib" / "libtorch_cpu.so"))
    branch = getattr(library, "mkl_serv_cbwr_get", None)
    return None if branch is None else _CBWR.get(number := branch(1), str(number))


def _numpy() -> str | None:
    """The widest set of instructions for which numpy has kernels that it may use."""
    if _imported("numpy", "_core") is None:
        return None
    core: Any = importlib.import_module("numpy._core._multiarray_umath")
    widest = next((name for name in reversed(core.__cpu_dispatch__) if core.__cpu_features__[name]), "baseline")
    return "AVX2" if widest == "X86_V3" else widest


def _of_openblas(name: str) -> Iterator[Any]:
    """A function of each OpenBLAS library that numpy or SciPy has loaded."""
    for path in _mapped(r"/(libscipy_openblas[^/]*\.so)$"):
        library = ctypes.CDLL(str(path))
        names = (f"scipy_openblas_{name}64_", f"scipy_openblas_{name}")
        yield from (getattr(library, exported) for exported in names if hasattr(library, exported))


def _set_openblas_threads(number: int) -> None:
    for setter in _of_openblas("set_num_threads"):
        setter(number)


def _openblas() -> str | None:
    """The kernels of the OpenBLAS libraries of numpy and SciPy; None where none is loaded."""
    kernels = set()
    for corename in _of_openblas("get_corename"):
        corename.restype = ctypes.c_char_p
        kernels.add(corename().decode())
    return " and ".join(sorted(kernels)) or None


def _arrow() -> str | None:
    arrow = _imported("pyarrow", "runtime_info")
    return arrow.runtime_info().simd_level if arrow else None


def _vllm() -> str | None:
    """The library of kernels that vLLM has loaded for the CPU."""
    return " and ".join(path.name.partition(".")[0] for path in _mapped(r"/vllm/_C(_AVX2|_AVX512)?\.[^/]*so$")) or None


def _mapped(pattern: str) -> list[Path]:
    """The libraries that this process has loaded whose paths match."""
    paths = {line.partition("/")[2] for line in proc_lines("/proc/self/maps") if re.search(pattern, line)}
    return [Path("/" + path) for path in sorted(paths)]


_TELL: dict[str, Callable[[], str | None]] = {
    "torch": _torch,
    "roots": lambda: "IEEE 754" if roots_are_exact() else None,
    "products": lambda: "OpenBLAS" if products_are_held() else None,
    "mkl": _mkl,
    "numpy": _numpy,
    "openblas": _openblas,
    "arrow": _arrow,
    "vllm": _vllm,
}
