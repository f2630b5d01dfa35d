"""The environment variables that vLLM reads on import, set alike for rollouts and for evaluation."""

import os

from ict_core.process import numerics

_SETTINGS = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # an engine core in this process loads in half the time and dies with it
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # otherwise jobs that share a machine bind to the same cores
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_NO_USAGE_STATS": "1",
}


def set_environment() -> None:
    """Set each of these variables that is unset, and vLLM's numerics; call this before vLLM is imported."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    numerics.limit_vllm()
