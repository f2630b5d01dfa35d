"""Sampling with transformers' ``generate``: slower than vLLM, for checks and for machines without it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList, TopPLogitsWarper

from ict_core.config.inputs import Dtype
from ict_core.evaluation.engine import Completion, Engine, Request, Sampling
from ict_core.models.read import read_model, read_tokenizer
from ict_core.store.manifests import resolved

_BATCH = 128


class SeededSampling(LogitsProcessor):
    """Samples each row from a generator of its own: the likeliest token of log-probabilities plus Gumbel noise.

    The argmax of ln p + Gumbel(0, 1) noise is distributed as p (the Gumbel-max trick), so a row's completion does not
    depend on which other rows share its batch.
    """

    def __init__(self, seeds: Sequence[int], sampling: Sampling) -> None:
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self._temperature = sampling.temperature
        self._top_p = TopPLogitsWarper(sampling.top_p) if sampling.top_p < 1 else None
        self.log_probs: list[Tensor] = []  # of the sampled tokens, (rows, 1) per step

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        scaled = scores.float() / self._temperature
        if self._top_p is not None:
            scaled = self._top_p(input_ids, scaled)
        log_probs = torch.log_softmax(scaled, dim=-1)
        width = log_probs.size(-1)
        uniform = torch.stack([torch.rand(width, generator=g, dtype=torch.float64) for g in self._generators])
        noisy_log_probs = log_probs + (-torch.log(-torch.log(uniform))).to(log_probs)
        self.log_probs.append(log_probs.gather(-1, noisy_log_probs.argmax(-1, keepdim=True)))
        return noisy_log_probs  # type: ignore[return-value]


class TransformersEngine(Engine):
    """One model, in evaluation mode, on the CPU or on a GPU if one is visible; its tokenizer pads on the left."""

    def __init__(self, path: Path, max_tokens: int, threads: int, dtype: Dtype) -> None:
        torch.set_num_threads(threads)
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self.tokenizer = read_tokenizer(path, padding_side="left")
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token  # padding is masked
        self.model = read_model(path, dtype).eval().to(torch.device(self._device))
        self.model.generation_config = GenerationConfig()  # no penalty or other default of the checkpoint's own

    def settings(self, sampling: Sampling) -> dict[str, Any]:
        """See :class:`Engine`: the model's configuration, and the options of `generate`."""
        request = {**self.model.generation_config.to_dict(), **self._options(sampling)}
        return {"engine": resolved(self.model.config.to_dict()), "request": resolved(request)}

    def _options(self, sampling: Sampling) -> dict[str, Any]:
        return {
            "do_sample": False,  # `SeededSampling` samples
            "temperature": None,
            "max_new_tokens": sampling.max_new_tokens,
            "eos_token_id": list(sampling.stop_token_ids),
            "pad_token_id": self.tokenizer.pad_token_id,
        }

    def stream(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[tuple[int, Completion]]:
        for start in range(0, len(requests), _BATCH):
            batch = self._batch(requests[start : start + _BATCH], sampling)
            for position, (ids, log_probs) in enumerate(batch, start):
                text = str(self.tokenizer.decode(ids, skip_special_tokens=True))
                reason = "stop" if int(ids[-1]) in sampling.stop_token_ids else "length"
                sampled = tuple(ids.tolist())
                yield position, Completion(text, sampled, len(ids), reason, log_probs.double().sum().item())

    @torch.no_grad()
    def _batch(self, requests: Sequence[Request], sampling: Sampling) -> list[tuple[Tensor, Tensor]]:
        """The sampled tokens of each request, its stop token included, and their log-probabilities; (T,) each."""
        inputs = self.tokenizer([r.prompt for r in requests], return_tensors="pt", padding=True).to(self._device)
        sampler = SeededSampling([r.seed for r in requests], sampling)
        sequences = self.model.generate(
            **inputs, **self._options(sampling), logits_processor=LogitsProcessorList([sampler])
        )[:, inputs["input_ids"].size(1) :]
        log_probs = torch.cat(sampler.log_probs, dim=1)
        stops = torch.isin(sequences, torch.tensor(sampling.stop_token_ids, device=sequences.device))
        kept = stops.cumsum(-1) - stops.int() == 0  # up to the first stop token, which is included
        return [(ids[on], values[on]) for ids, values, on in zip(sequences, log_probs, kept, strict=True)]
