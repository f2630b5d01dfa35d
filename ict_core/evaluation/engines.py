"""The sampling engines, by name. Nothing falls back from one to another."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ict_core.config.models import Dtype
from ict_core.errors import UserError


@dataclass(frozen=True)
class Request:
    """One completion to sample: its prompt and its own seed."""

    prompt: str
    seed: int


@dataclass(frozen=True)
class Completion:
    """One sampled completion.

    Attributes:
        text: decoded without special tokens.
        tokens: sampled tokens, the stop token included.
        finish_reason: ``stop`` (a stop id was sampled) or ``length``.
        logprob: sum of the sampled tokens' log-probabilities at the sampling temperature (at 1 where it is greedy),
            nats.
    """

    text: str
    tokens: int
    finish_reason: str
    logprob: float


@dataclass(frozen=True)
class Sampling:
    """How to sample; the distribution is cut to ``top_p`` after the temperature, and by nothing else.

    A temperature of 0 is greedy decoding: the likeliest token each time, whatever the seed and ``top_p``.
    """

    temperature: float
    top_p: float
    max_new_tokens: int
    stop_token_ids: tuple[int, ...]


class Engine(Protocol):
    """Holds one model and samples from it."""

    name: str
    version: str

    def sample(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """One completion a request, in order; a request's completion depends on its own seed only."""
        ...


def load_engine(name: str, model: Path, max_tokens: int, threads: int, dtype: Dtype) -> Engine:
    """Load a checkpoint into the engine of that name.

    Args:
        name: ``vllm`` or ``transformers``.
        model: a Hugging Face checkpoint folder with safetensors weights.
        max_tokens: longest prompt plus completion.
        threads: CPU threads.
        dtype: of the weights and the computation, whatever the weights are stored in.

    Raises:
        UserError: an unknown name, no safetensors weights in the folder, or bfloat16 without a GPU.
    """
    import torch

    if not any(model.glob("*.safetensors")):
        raise UserError(f"{model}: no safetensors weights there; run the stage that trains this model")
    if dtype == "bfloat16" and not torch.cuda.is_available():
        raise UserError("the model's dtype: bfloat16 needs a GPU and none is visible; on the CPU state dtype: float32")
    if name == "vllm":
        from ict_core.evaluation.vllm_engine import VllmEngine

        return VllmEngine(model, max_tokens, threads, dtype)
    if name == "transformers":
        from ict_core.evaluation.transformers_engine import TransformersEngine

        return TransformersEngine(model, threads, dtype)
    raise UserError(f"engine {name!r} is unknown; allowed: vllm, transformers")
