"""Rollouts by vLLM through TRL: a seed for every request, and a comparison of the weights after every transfer."""

import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor
from trl.generation import vllm_generation
from trl.generation.vllm_generation import VLLMGeneration

from ict_core.config import Dtype
from ict_core.errors import UserError

_REQUESTS_IN_FLIGHT = 64


@contextmanager
def engine_for_rollouts(max_model_length: int, dtype: Dtype) -> Iterator[None]:
    """Inside, a trainer of TRL builds its ``vllm.LLM`` with our settings; afterwards TRL's own class is back.

    TRL has no option for the dtype, nor for what vLLM needs on a CPU. ``max_model_length`` is the longest prompt with
    its response, in tokens.
    """
    settings: dict[str, Any] = {"dtype": dtype, "load_format": "safetensors", "generation_config": "vllm"}
    if not torch.cuda.is_available():
        settings |= {"enforce_eager": True, "async_scheduling": False}
        # with a request's own seed, chunked prefill crashes vLLM's CPU sampler
        settings |= {"enable_chunked_prefill": False, "max_num_batched_tokens": max(4096, max_model_length)}
    llm = vllm_generation.LLM
    vllm_generation.LLM = lambda **trl: llm(**trl | settings)  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        vllm_generation.LLM = llm  # type: ignore[misc]


class SeededSampler:
    """TRL's vLLM, colocated or a server, with a seed for every request and log-probs of fixed prompts on demand.

    TRL sends one seed, or none, for all requests of all steps. After each transfer of weights vLLM is asked for its
    log-probs of the probe prompts, before it samples anything: a transfer that fails silently (vLLM's CPU backend keeps
    the old head of a model with tied embeddings) is seen before a token of it is trained on.

    ``generation`` is TRL's object, whose methods are replaced; ``probe`` are fixed prompts, token ids; ``seed_of`` has
    the seed of the rollout with a number in the step's whole batch.
    """

    def __init__(self, generation: VLLMGeneration, probe: list[list[int]], seed_of: Callable[[int], int]) -> None:
        self._generation = generation
        self.probe = probe
        self._seed_of = seed_of
        self._transfer = generation.sync_weights
        self._due = False
        self._probed: list[Tensor] | None = None
        generation.sync_weights = self._transfer_weights  # type: ignore[method-assign]
        if generation.mode == "colocate":
            self._llm_generate = generation.llm.generate
            generation.llm.generate = self._colocated
        elif generation.accelerator.is_main_process:
            self._client_generate = generation.vllm_client.generate
            generation.vllm_client.generate = self._served

    def take_probe(self) -> list[Tensor] | None:
        """vLLM's log-probs of each probe prompt's tokens but the first, if weights came since the last call.

        None on every rank but the first where vLLM is a server.
        """
        probed, self._probed = self._probed, None
        return probed

    def _transfer_weights(self) -> None:
        generation = self._generation
        if generation.accelerator.device.type == "cpu":  # TRL's way needs weights as a GPU's vLLM holds them
            weights = [(name, weight.detach()) for name, weight in generation._iter_named_params()]
            generation.llm.collective_rpc("reload_weights", kwargs={"weights_iterator": weights})
            generation.llm.reset_prefix_cache()
        else:
            self._transfer()
        self._due = True

    def _colocated(self, prompts: list[Any], sampling_params: Any, **options: Any) -> list[Any]:
        """Stands for ``LLM.generate``: this rank's prompts, each with a seed of its own."""
        if self._due:
            scoring = type(sampling_params)(max_tokens=1, prompt_logprobs=0, detokenize=False)
            outputs = self._llm_generate([{"prompt_token_ids": ids} for ids in self.probe], scoring, use_tqdm=False)
            self._probed = [
                torch.tensor([next(iter(at.values())).logprob for at in output.prompt_logprobs[1:]])
                for output in outputs
            ]
            self._due = False
        first = self._generation.accelerator.process_index * len(prompts)
        seeded = [sampling_params.clone() for _ in prompts]
        for number, parameters in enumerate(seeded, start=first):
            parameters.seed = self._seed_of(number)
        return self._llm_generate(prompts, seeded, **options)

    def _served(self, prompts: list[list[int]], n: int, generation_kwargs: Any = None, **sampling: Any) -> Any:
        """Stands for ``VLLMClient.generate``: one request a prompt; its n samples have the seeds s, s + 1, ..."""
        if self._due:
            scores = self._generation.vllm_client.get_sequence_logprobs(self.probe, [1] * len(self.probe), 1)
            self._probed = [torch.tensor(logprobs).squeeze(-1) for logprobs in scores["actual_logprobs"]]
            self._due = False

        def ask(number: int) -> dict[str, list[Any]]:
            own = {**(generation_kwargs or {}), "seed": self._seed_of(number * n)}
            return self._client_generate(prompts=[prompts[number]], n=n, generation_kwargs=own, **sampling)

        with ThreadPoolExecutor(_REQUESTS_IN_FLIGHT) as requests:
            answers = list(requests.map(ask, range(len(prompts))))
        return {key: [value for answer in answers for value in answer[key]] for key in answers[0]}


@torch.no_grad()
def weight_difference(
    sampler: SeededSampler, accelerator: Accelerator, model: torch.nn.Module, *, bound: float, step: int
) -> float:
    """The mean difference of vLLM's and the trainer's log-probs of the probe, nats a token, the largest of all ranks.

    Every rank must call it. The bound must lie above the rounding of the sampler's precision, so a transfer that lost
    or kept a part of the weights is seen, not the difference that one small step makes.

    Raises:
        UserError: it is beyond the bound, so that rollouts do not come from the trained weights; on every rank.
    """
    prompts, probed = sampler.probe, sampler.take_probe()
    own = [_prompt_log_probs(accelerator, model, prompt) for prompt in prompts]  # a sharded model needs every rank
    difference = 0.0
    if probed is not None:
        apart = [(theirs.to(ours.device) - ours).abs() for theirs, ours in zip(probed, own, strict=True)]
        difference = torch.cat(apart).mean().item()
    largest = accelerator.gather(torch.tensor([difference], device=accelerator.device)).max().item()
    if not largest <= bound:  # NaN as well
        raise UserError(
            f"step {step}: vLLM's log-probs of {len(prompts)} fixed prompts differ from the trainer's by "
            f"{largest:.3g} nats a token; allowed: at most {bound:g} (rollouts.probe_bound). vLLM does not "
            "sample from the trained weights. On the CPU its weights cannot be replaced where the embeddings are "
            "tied: leave out training.rollouts there"
        )
    return largest


def _prompt_log_probs(accelerator: Accelerator, model: torch.nn.Module, prompt: list[int]) -> Tensor:
    """ln p of a prompt's tokens but the first, (T - 1,), float32."""
    ids = torch.tensor([prompt], device=accelerator.device)
    with accelerator.autocast():
        logits = model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits
    return logits[0, :-1].float().log_softmax(-1).gather(-1, ids[0, 1:, None]).squeeze(-1)


def take_a_port() -> None:
    """Gives a vLLM in this process a port that no training started beside it takes.

    Without ``MASTER_PORT`` TRL takes 29500 wherever it is free, and the engine binds it seconds later: of two trainings
    started together on a machine the second dies. A launcher of several processes states a port of its own.
    """
    if "WORLD_SIZE" not in os.environ and "MASTER_PORT" not in os.environ:
        with socket.create_server(("localhost", 0)) as free:
            os.environ["MASTER_PORT"] = str(free.getsockname()[1])
