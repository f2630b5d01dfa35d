"""What a sampling engine is: requests in, completions out."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ict_core.process.progress import Progress


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


class Engine(ABC):
    """Holds one model and samples from it."""

    name: str

    @abstractmethod
    def stream(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[tuple[int, Completion]]:
        """Each request's position with its completion, as they end; a completion depends on its own seed only."""

    @abstractmethod
    def settings(self, sampling: Sampling) -> dict[str, Any] | None:
        """All settings of the engine and of a request, defaults included, as JSON; None where it was not loaded."""

    def sample(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """One completion a request, in order."""
        completions: dict[int, Completion] = {}
        progress = Progress("completion", len(requests))
        for position, completion in self.stream(requests, sampling):
            completions[position] = completion
            progress.update(len(completions))
        return [completions[position] for position in range(len(requests))]
