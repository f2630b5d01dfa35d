"""Sampling with vLLM, with its engine core in this process."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

from ict_core.config.inputs import Dtype
from ict_core.errors import UserError
from ict_core.evaluation.engine import Completion, Engine, Request, Sampling
from ict_core.process import numerics, vllm_environment
from ict_core.store.manifests import resolved

vllm_environment.set_environment()

import torch  # noqa: E402
from vllm import LLM, CompletionOutput, RequestOutput, SamplingParams, _custom_ops  # noqa: E402
from vllm.inputs import tokens_input  # noqa: E402
from vllm.sampling_params import RequestOutputKind  # noqa: E402
from vllm.v1.sample.ops.topk_topp_sampler import TopKTopPSampler  # noqa: E402

# vLLM's sampler for CPUs draws noise for the whole batch, then again from each request's seed; this one draws it once
TopKTopPSampler.forward_cpu = TopKTopPSampler.forward_native  # type: ignore[method-assign]

_MAX_SEQUENCES = 1024  # in flight
_AT_ONCE = 4 * _MAX_SEQUENCES  # handed over: vLLM keeps many times the text of a request
# On a GPU vLLM's own choices apply, above all CUDA graphs.
_ON_CPU: dict[str, Any] = {
    "enable_chunked_prefill": False,  # with a request's own seed it crashes vLLM's CPU sampler
    "enable_prefix_caching": True,  # the samples of a problem share its prompt's keys and values, in whole blocks
    "block_size": 32,  # tokens: the smallest that vLLM's CPU attention takes; its default, 128, exceeds most prompts
    "async_scheduling": False,
    "enforce_eager": True,
}


OF_A_CPU_ENGINE = (  # the modules that vLLM imports when it creates an engine on the CPU
    "vllm.v1.engine.core",
    "vllm.v1.worker.cpu_worker",
    "vllm.v1.worker.cpu_model_runner",
    "vllm.v1.attention.backends.cpu_attn",
    "vllm.v1.core.sched.scheduler",
    "vllm.model_executor.layers.quantization.compressed_tensors.utils",
    "vllm.model_executor.model_loader.default_loader",
    "vllm.model_executor.models.qwen2",
    "vllm.lora.resolver",
    "vllm.utils.cpu_triton_utils",
)


def _check_head_size(model: Path) -> None:
    """Refuse a checkpoint on which vLLM on the CPU would end with a traceback of its own."""
    from vllm.v1.attention.backends.cpu_attn import CPUAttentionBackend

    from ict_core.models.read import read_config

    config = read_config(model).get_text_config()
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    allowed = CPUAttentionBackend.get_supported_head_sizes()
    if size not in allowed:
        raise UserError(
            f"{model}: config.json: heads of {size}, which vLLM does not compute on the CPU; allowed:"
            f" {', '.join(map(str, allowed))}; `engine: transformers` (`--engine transformers`) takes any"
        )


class VllmEngine(Engine):
    """``vllm.LLM`` with one request per completion, so that every completion has a seed of its own."""

    def __init__(self, model: Path, max_tokens: int, threads: int, dtype: Dtype) -> None:
        torch.set_num_threads(threads)
        if not torch.cuda.is_available():
            _check_head_size(model)
        self._products: Callable[[], AbstractContextManager[None]] = nullcontext
        if numerics.chosen() == "portable-avx512":  # oneDNN, to which vLLM gives linear layers, is held to AVX2
            _custom_ops._supports_onednn = False
            self._products = numerics.products
        self._llm = LLM(
            model=str(model),
            dtype=dtype,
            max_model_len=max_tokens,
            max_num_seqs=_MAX_SEQUENCES,
            max_num_batched_tokens=max(8192, max_tokens),
            generation_config="vllm",  # no sampling default is taken from the checkpoint
            load_format="safetensors",
            trust_remote_code=False,
            logprobs_mode="processed_logprobs",  # at the sampling temperature, not before it
            disable_log_stats=True,
            seed=0,
            **({} if torch.cuda.is_available() else _ON_CPU),
        )
        self._tokenizer = self._llm.get_tokenizer()

    def settings(self, sampling: Sampling) -> dict[str, Any]:
        """See :class:`Engine`; the settings of a request are without its seed."""
        request = self._parameters(Request("", 0), sampling)
        fields = {n: getattr(request, n) for n in request.__struct_fields__ if n != "seed" and not n.startswith("_")}
        return {"engine": resolved(self._llm.llm_engine.vllm_config), "request": resolved(fields)}

    def stream(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[tuple[int, Completion]]:
        engine = self._llm.llm_engine
        prompts = list(dict.fromkeys(request.prompt for request in requests))
        ids = dict(zip(prompts, self._tokenizer(prompts)["input_ids"], strict=True))
        waiting = enumerate(requests)
        try:
            while True:
                for position, request in islice(waiting, _AT_ONCE - engine.get_num_unfinished_requests()):
                    prompt = tokens_input(ids[request.prompt])
                    engine.add_request(str(position), prompt, self._parameters(request, sampling))
                if not engine.has_unfinished_requests():
                    return
                # on the CPU vLLM compiles one small function of its sampler, which takes longer than it saves
                eager = nullcontext() if torch.cuda.is_available() else torch.compiler.set_stance("force_eager")
                with eager, self._products():
                    outputs = engine.step()
                for output in outputs:
                    assert isinstance(output, RequestOutput)
                    yield int(output.request_id), self._completion(output.outputs[0])
        finally:  # needed if the caller stops early
            engine.abort_request([str(position) for position in range(len(requests))])

    def _parameters(self, request: Request, sampling: Sampling) -> SamplingParams:
        return SamplingParams(
            seed=request.seed,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=0,
            max_tokens=sampling.max_new_tokens,
            stop_token_ids=list(sampling.stop_token_ids),
            logprobs=0,
            flat_logprobs=True,  # lists of numbers, not an object per token
            detokenize=False,  # vLLM would decode token by token, and every log-prob's token as well
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _completion(self, output: CompletionOutput) -> Completion:
        if output.finish_reason not in ("stop", "length") or output.cumulative_logprob is None:
            raise RuntimeError(f"vLLM ended a completion with finish_reason {output.finish_reason!r}")
        ids = tuple(output.token_ids)
        text = self._tokenizer.decode(ids, skip_special_tokens=True)
        return Completion(text, ids, len(ids), output.finish_reason, output.cumulative_logprob)
