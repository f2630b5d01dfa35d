"""What vLLM reads from the environment when it is imported, here the same for rollouts and for evaluation."""

import os

from ict_core.process import numerics

_SETTINGS = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # an engine core in this process loads in half the time and dies with it
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # else jobs that share a machine bind to the same cores
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_NO_USAGE_STATS": "1",
}


def set_environment() -> None:
    """Set each of these variables that is not set, and vLLM's numerics; call it before vLLM is imported."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    numerics.limit_vllm()
