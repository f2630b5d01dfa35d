"""Rollouts by vLLM through TRL: a seed for every request, and a comparison of the weights after every transfer."""

import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor
from trl.generation.vllm_generation import VLLMGeneration
from trl.trainer import grpo_trainer
from trl.trainer.utils import ensure_master_addr_port

from ict_core.config.inputs import Dtype
from ict_core.config.methods import Correction
from ict_core.errors import UserError
from ict_core.training.objective import importance_ratio
from ict_core.training.ranks import gathered_sums
from ict_core.training.sharding import reshard

_REQUESTS_IN_FLIGHT = 64


@contextmanager
def seeded_generation(dtype: Dtype) -> Iterator[None]:
    """A context in which TRL's trainer builds a :class:`SeededGeneration` of that dtype: it has no option for this."""
    original = grpo_trainer.VLLMGeneration
    grpo_trainer.VLLMGeneration = partial(SeededGeneration, dtype)  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        grpo_trainer.VLLMGeneration = original  # type: ignore[misc]


class SeededGeneration(VLLMGeneration):
    """TRL's vLLM, colocated or a server, with a seed for every request and log-probs of fixed prompts on demand.

    TRL sends one seed, or none, for all requests of all steps. After each transfer of weights, and before it samples,
    vLLM is asked for its log-probs of the probe prompts. A transfer that fails silently (vLLM's CPU backend keeps the
    old head of a model with tied embeddings) is thus detected before any sampled token is trained on.

    The trainer sets ``probe``, fixed prompts as token ids; ``seed_of``, which maps a rollout's number in the step's
    whole batch to its seed; and ``stop_ids``, as a server may have other files of the model than the trainer.
    """

    probe: list[list[int]]
    stop_ids: list[int]
    seed_of: Callable[[int], int]

    def __init__(self, dtype: Dtype, **options: Any) -> None:
        self._dtype = dtype
        self._due = False  # whether weights were transferred since the last probe
        self._probed: list[Tensor] | None = None
        super().__init__(**options)

    def take_probe(self) -> list[Tensor] | None:
        """vLLM's log-probs of each probe prompt's tokens but the first, if a transfer was probed since the last call.

        None otherwise, and on every rank but the first where vLLM is a server.
        """
        probed, self._probed = self._probed, None
        return probed

    def sync_weights(self) -> None:
        """Transfer the weights as TRL does, except on a CPU: TRL expects them in the form that vLLM has on a GPU."""
        if self.accelerator.device.type == "cpu":
            weights = [(name, weight.detach()) for name, weight in self._iter_named_params()]
            self.llm.collective_rpc("reload_weights", kwargs={"weights_iterator": weights})
            self.llm.reset_prefix_cache()
        else:
            reshard(self.model)  # TRL reads sharded parameters only
            super().sync_weights()
        self._due = True

    def _init_vllm(self) -> None:
        """Start vLLM as TRL does, but with the study's dtype and settings for a CPU: TRL has no option for either."""
        if self.mode == "server":
            super()._init_vllm()
            if self.accelerator.is_main_process:
                served, longest = self.vllm_client.get_server_info()["model_config"], self.max_model_length or 0
                mode, length = served["logprobs_mode"], served["max_model_len"]
                if mode != "processed_logprobs" or length < longest:
                    raise UserError(
                        f"training.rollouts.server: started with --logprobs-mode {mode} --max-model-len {length}; "
                        f"allowed: processed_logprobs, which are at the temperature, and at least {longest}"
                    )
                self._ask: Callable[..., Any] = self.vllm_client.generate
                self.vllm_client.generate = self._served
            return
        from vllm import LLM

        rank = self.accelerator.process_index
        os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(self.accelerator.local_process_index)}
        os.environ["WORLD_SIZE"] = str(self.accelerator.num_processes)
        ensure_master_addr_port()
        settings: dict[str, Any] = {
            "model": self.model.name_or_path,
            "dtype": self._dtype,
            "load_format": "safetensors",
            "generation_config": "vllm",
            "gpu_memory_utilization": self.gpu_memory_utilization,
            "max_model_len": self.max_model_length,
            "max_num_seqs": self.max_num_seqs,
            "max_num_batched_tokens": 4096,
            "enable_sleep_mode": self.enable_sleep_mode,
            "distributed_executor_backend": "external_launcher",
            "seed": rank,
            "logprobs_mode": "processed_logprobs",  # at the temperature, as the correction needs them
        }
        if not torch.cuda.is_available():
            settings |= {"enforce_eager": True, "async_scheduling": False}
            # with a request's own seed, chunked prefill crashes vLLM's CPU sampler
            tokens = max(4096, self.max_model_length or 0)
            settings |= {"enable_chunked_prefill": False, "max_num_batched_tokens": tokens}
        llm: Any = LLM(**settings)
        self.llm, self._ask = llm, llm.generate
        llm.generate = self._colocated
        if self.enable_sleep_mode:
            llm.sleep(level=2)
        self._llm_weights_sleeping = self.enable_sleep_mode
        self.accelerator.wait_for_everyone()

    def _colocated(self, prompts: list[Any], sampling_params: Any, **options: Any) -> list[Any]:
        """Replaces ``LLM.generate``: samples for this rank's prompts, each with its own seed."""
        if self._due:
            scoring = type(sampling_params)(max_tokens=1, prompt_logprobs=0, detokenize=False)
            outputs = self._ask([{"prompt_token_ids": ids} for ids in self.probe], scoring, use_tqdm=False)
            self._probed = [
                torch.tensor([next(iter(token.values())).logprob for token in output.prompt_logprobs[1:]])
                for output in outputs
            ]
            self._due = False
        first = self.accelerator.process_index * len(prompts)
        seeded = [sampling_params.clone() for _ in prompts]
        for number, parameters in enumerate(seeded, start=first):
            parameters.seed = self.seed_of(number)
        return self._ask(prompts, seeded, **options)

    def _served(self, prompts: list[list[int]], n: int, generation_kwargs: Any = None, **sampling: Any) -> Any:
        """Replaces ``VLLMClient.generate``: one request per prompt, whose n samples have the seeds s, s + 1, ..."""
        if self._due:
            scores = self.vllm_client.get_sequence_logprobs(self.probe, [1] * len(self.probe), 1)
            self._probed = [torch.tensor(logprobs).squeeze(-1) for logprobs in scores["actual_logprobs"]]
            self._due = False

        def ask(number: int) -> dict[str, list[Any]]:
            own = {"stop_token_ids": self.stop_ids, "seed": self.seed_of(number * n)}
            options = {**(generation_kwargs or {}), **own}
            return self._ask(prompts=[prompts[number]], n=n, generation_kwargs=options, **sampling)

        with ThreadPoolExecutor(_REQUESTS_IN_FLIGHT) as requests:
            answers = list(requests.map(ask, range(len(prompts))))
        return {key: [value for answer in answers for value in answer[key]] for key in answers[0]}


@torch.no_grad()
def weight_difference(
    sampler: SeededGeneration, accelerator: Accelerator, model: torch.nn.Module, *, bound: float, step: int
) -> float:
    """The mean difference between vLLM's and the trainer's log-probs of the probe, nats a token, largest over ranks.

    Every rank must call it. The bound must be above the rounding of the sampler's precision. So the check detects a
    transfer that lost weights or left old ones in place, but not the difference that one small step makes.

    Raises:
        UserError: the difference exceeds the bound, so rollouts do not come from the trained weights; on every rank.
    """
    prompts, probed = sampler.probe, sampler.take_probe()
    expected = [_prompt_log_probs(accelerator, model, prompt) for prompt in prompts]  # a sharded model needs every rank
    difference = 0.0
    if probed is not None:
        differences = [(a.to(b.device) - b).abs() for a, b in zip(probed, expected, strict=True)]
        difference = torch.cat(differences).mean().item()
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


def correct_for_sampler(
    accelerator: Accelerator, batch: dict[str, Any], old: Tensor, correction: Correction
) -> dict[str, float]:
    """Add to a batch the trainer's log-probs ``old`` of the policy that sampled, (B, T), and their ratio to vLLM's.

    Returns, for the log, the mean absolute difference of the two over the response tokens that vLLM scored, nats, and
    the share of all response tokens whose ratio was set to zero (masked) or to a bound (truncated).
    """
    mask, sampler = batch["completion_mask"].bool(), batch["sampling_per_token_logps"]
    ratio, beyond = importance_ratio(old, sampler, mask, correction)
    batch |= {"old_per_token_logps": old, "importance_sampling_ratio": ratio}
    sums = gathered_sums(accelerator, [(old - sampler)[mask & ~sampler.isnan()].abs(), beyond.expand_as(mask)[mask]])
    mismatch, share = (sums[:, 0] / sums[:, 1]).tolist()
    return {"sampler_difference": mismatch, "corrected_share": share}


def take_a_port() -> None:
    """Set a port for a vLLM in this process that no other training started at the same time takes.

    Without ``MASTER_PORT`` TRL takes port 29500 if it is free, and the engine binds it seconds later. So if two
    trainings start together on a machine, the second one fails. A launcher of several processes sets its own port.
    """
    if "WORLD_SIZE" not in os.environ and "MASTER_PORT" not in os.environ:
        with socket.create_server(("localhost", 0)) as server:
            os.environ["MASTER_PORT"] = str(server.getsockname()[1])
