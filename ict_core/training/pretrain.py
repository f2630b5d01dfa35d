"""Base models of the mini world, pretrained from scratch by a fixed rule and saved as ordinary checkpoints."""

import math
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, embedding, linear, scaled_dot_product_attention, silu
from torch.nn.utils.rnn import pad_sequence
from transformers import GenerationConfig, PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from ict_core.config.inputs import Architecture, Pretraining
from ict_core.problems.mini.problems import pretraining_documents
from ict_core.problems.mini.tokenizer import train_tokenizer
from ict_core.process import numerics
from ict_core.process.job_log import Progress
from ict_core.process.startup import reuse_freed_memory
from ict_core.seeding import derive_seed
from ict_core.store.files import appearing, hash_weights
from ict_core.store.layout import MANIFEST
from ict_core.store.manifests import cost, file_hashes, manifest, write_manifest

_IGNORED = -100
_BUCKET = 32  # batches sorted by length together, so that little is padded
_COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # the quintic of Jordan et al., also torch's default
_MOMENTUM = 0.95  # also theirs


def build_model(architecture: Architecture, tokenizer: PreTrainedTokenizerFast, seed: int) -> Qwen2ForCausalLM:
    """A randomly initialised Qwen2 model with tied embeddings, in float32."""
    config = Qwen2Config(
        hidden_size=architecture.hidden_size,
        intermediate_size=architecture.intermediate_size,
        num_hidden_layers=architecture.layers,
        num_attention_heads=architecture.heads,
        num_key_value_heads=architecture.kv_heads,
        vocab_size=len(tokenizer),
        max_position_embeddings=architecture.max_positions,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    torch.manual_seed(derive_seed(seed, "initialisation"))
    return Qwen2ForCausalLM(config)


@numerics.products()
def pretrain(
    architecture: Architecture, rule: Pretraining, held_out: set[str], resolved: dict[str, Any], out: Path
) -> list[float]:
    """Train a base model on generated documents and save it with tokenizer, generation config and manifest.

    Trains ``rule.steps`` steps of ``rule.batch_sequences`` documents, with the loss on the solutions only, Muon for the
    matrices and AdamW for the rest. Learning rates warm up linearly over 2 % of the steps, then decay by a cosine to
    10 %. No prompt of ``held_out`` occurs in the text. ``resolved`` is for the manifest. The folder ``out`` appears
    complete or not at all. Returns the loss of every step, nats a token.
    """
    started, tokens = time.perf_counter(), 0
    reuse_freed_memory()
    torch.set_num_threads(1)  # another number of threads changes the bytes
    tokenizer = train_tokenizer(architecture.vocab_size)
    model = build_model(architecture, tokenizer, rule.seed)
    optimizers = _optimizers(model, rule)
    schedules = [torch.optim.lr_scheduler.LambdaLR(o, lambda step: _schedule(step, rule.steps)) for o in optimizers]
    loss_of = SolutionLoss(model, architecture.max_positions)
    losses: list[float] = []
    progress = Progress("step", rule.steps)
    for input_ids, labels in _batches(tokenizer, rule, held_out):
        loss = loss_of(input_ids, labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, schedule in zip(optimizers, schedules, strict=True):
            optimizer.step()
            schedule.step()
        model.zero_grad(set_to_none=True)
        losses.append(loss.item())
        progress.update(len(losses), loss=losses[-1])
        tokens += int((labels != _IGNORED).sum())
    with appearing(out) as partial:
        save_checkpoint(model, tokenizer, partial)
        facts = {"stage": "pretrain", "model_sha256": hash_weights(partial), "files": file_hashes(partial)}
        write_manifest(partial / MANIFEST, manifest(resolved) | facts | cost(started, tokens))
    return losses


def _optimizers(model: Qwen2ForCausalLM, rule: Pretraining) -> list[torch.optim.Optimizer]:
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    rest = [p for n, p in model.named_parameters() if p.ndim != 2 or "embed" in n]
    adamw = torch.optim.AdamW(rest, lr=rule.adamw_lr, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    return [Muon(matrices, lr=rule.muon_lr), adamw]


def _schedule(step: int, steps: int) -> float:
    warmup = max(1, steps // 50)
    if step < warmup:
        return (step + 1) / warmup
    return 0.1 + 0.45 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))


def _batches(
    tokenizer: PreTrainedTokenizerFast, rule: Pretraining, held_out: set[str]
) -> Iterator[tuple[Tensor, Tensor]]:
    """(input ids, labels), each (sequences, longest) and right-padded; the order is drawn from the seed."""
    size = rule.batch_sequences
    documents = list(pretraining_documents(rule.seed, rule.steps * size, held_out, rule.slips or 0.0))
    prompts = tokenizer([p for p, _ in documents])["input_ids"]
    completions = tokenizer([c for _, c in documents])["input_ids"]
    rows = [(p, [*c, tokenizer.eos_token_id]) for p, c in zip(prompts, completions, strict=True)]
    shuffle = torch.Generator().manual_seed(derive_seed(rule.seed, "batch order"))
    for start in range(0, len(rows), size * _BUCKET):
        bucket = sorted(rows[start : start + size * _BUCKET], key=lambda row: len(row[0]) + len(row[1]))
        batches = [bucket[i : i + size] for i in range(0, len(bucket), size)]
        for index in torch.randperm(len(batches), generator=shuffle).tolist():
            ids = [torch.tensor(p + c) for p, c in batches[index]]
            labels = [torch.tensor([_IGNORED] * len(p) + c) for p, c in batches[index]]
            yield pad_sequence(ids, True, tokenizer.pad_token_id), pad_sequence(labels, True, _IGNORED)


def save_checkpoint(model: Qwen2ForCausalLM, tokenizer: PreTrainedTokenizerFast, out: Path) -> None:
    """Save an ordinary checkpoint: safetensors weights, tokenizer, and a generation config with the stop ids."""
    model.generation_config = GenerationConfig(
        do_sample=True, temperature=1.0, eos_token_id=[tokenizer.eos_token_id], pad_token_id=tokenizer.pad_token_id
    )
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


def orthogonalise(matrices: Tensor) -> Tensor:
    """Push the singular values of each matrix, shape (number, rows, columns), to about one."""
    a, b, c = _COEFFICIENTS
    tall = matrices.size(-2) > matrices.size(-1)
    x = matrices.mT if tall else matrices
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """Muon (Jordan et al. 2024) with Nesterov momentum, in float32, for two-dimensional parameters.

    Momentum updates are orthogonalised by Newton-Schulz iterations. ``torch.optim.Muon`` iterates in bfloat16, which
    CPUs without native support emulate: its step took 104 ms, and the forward and backward pass of the small mini
    model 122 ms. This class handles all matrices of one shape in one batched product.
    """

    def __init__(self, params: Iterable[Tensor], lr: float) -> None:
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # no closure
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for parameter in group["params"]:
                by_shape[parameter.shape].append(parameter)
            for shape, parameters in by_shape.items():
                state = self.state[parameters[0]]  # one for all matrices of the shape
                gradients = torch.stack([p.grad for p in parameters])  # type: ignore[misc]  # each has one
                buffer = state.setdefault("momentum_buffer", torch.zeros_like(gradients))
                buffer.lerp_(gradients, 1 - _MOMENTUM)
                updates = orthogonalise(gradients.lerp_(buffer, _MOMENTUM))
                scale = max(1.0, shape[0] / shape[1]) ** 0.5
                torch._foreach_add_(parameters, list(updates.unbind()), alpha=-group["lr"] * scale)


class SolutionLoss:
    """``model(input_ids, labels=labels).loss`` of a Qwen2 model in fewer and smaller operations.

    The loss is equal up to rounding. Rounding depends on the order of operations: another order gives other trained
    weights. The last layer's MLP, the last norm, the head and the softmax see only the states that predict a label.
    Weights on the same input are joined, with RMSNorm's weight multiplied in. The rotary embedding is one complex
    product, for which the two halves of a query or key are interleaved. Rows have up to ``longest`` tokens.
    """

    def __init__(self, model: Qwen2ForCausalLM, longest: int) -> None:
        self._model: Any = model
        cos, sin = self._model.model.rotary_emb(model.lm_head.weight, torch.arange(longest)[None])
        half = cos.size(-1) // 2
        self._rotation = torch.complex(cos[0, :, None, :half].contiguous(), sin[0, :, None, :half].contiguous())

    def __call__(self, input_ids: Tensor, labels: Tensor) -> Tensor:
        """Mean negative log-likelihood of the labels, nats a token.

        Ids and labels are (B, T), padded on the right. A label is at its own position, and -100 means no label.
        """
        decoder = self._model.model
        *layers, last = decoder.layers
        x = embedding(input_ids.flatten(), decoder.embed_tokens.weight)
        for layer in layers:
            attended = self._seen(layer, x, input_ids.shape)
            x = _with_mlp(layer, torch.addmm(x, attended, layer.self_attn.o_proj.weight.T))
        targets = labels.roll(-1, 1)
        targets[:, -1] = _IGNORED
        positions = (targets != _IGNORED).flatten().nonzero().squeeze(1)
        attended = self._seen(last, x, input_ids.shape)[positions]
        x = _with_mlp(last, torch.addmm(x[positions], attended, last.self_attn.o_proj.weight.T))
        return cross_entropy(_projected(x, decoder.norm, self._model.lm_head.weight), targets.flatten()[positions])

    def _seen(self, layer: Any, x: Tensor, shape: torch.Size) -> Tensor:
        """A layer's attention output before the output projection, (B T, heads * head size)."""
        attention = layer.self_attn
        width = attention.head_dim
        parts = attention.q_proj, attention.k_proj, attention.v_proj
        heads, kv_heads, _ = (part.out_features // width for part in parts)
        weight, bias = _joined([p.weight for p in parts], width), _joined([p.bias for p in parts], width)
        qkv = _projected(x, layer.input_layernorm, weight, bias).view(*shape, -1, width)
        qk, v = qkv.split([heads + kv_heads, kv_heads], 2)
        rotated = torch.view_as_complex(qk.unflatten(-1, (-1, 2))) * self._rotation[: shape[1]]
        q, k = torch.view_as_real(rotated).flatten(-2).transpose(1, 2).split([heads, kv_heads], 1)
        grouped = heads != kv_heads
        attended = scaled_dot_product_attention(q, k, v.transpose(1, 2), is_causal=True, enable_gqa=grouped)
        return attended.transpose(1, 2).reshape(len(x), -1)


def _joined(parts: list[Tensor], width: int) -> Tensor:
    """The rows of queries, keys and values; for queries and keys, the halves of each head are interleaved."""
    rotary = torch.cat(parts[:2]).unflatten(0, (-1, 2, width // 2))
    return torch.cat([rotary.transpose(1, 2).flatten(0, 2), parts[2]])


def _with_mlp(layer: Any, x: Tensor) -> Tensor:
    mlp = layer.mlp
    joined = torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight])
    gate, up = _projected(x, layer.post_attention_layernorm, joined).chunk(2, -1)
    return torch.addmm(x, silu(gate) * up, mlp.down_proj.weight.T)


def _projected(x: Tensor, norm: Any, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``linear(norm(x), weight, bias)``."""
    floor = x.new_tensor((norm.variance_epsilon * x.size(-1)) ** 0.5)
    direction: Tensor = _Direction.apply(x, floor)
    return linear(direction, weight * (norm.weight * x.size(-1) ** 0.5), bias)


class _Direction(torch.autograd.Function):
    """x / sqrt(|x|^2 + floor^2) of each row: RMSNorm without its weight and the root of the width."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, floor: Tensor) -> Tensor:
        length = torch.hypot(torch.linalg.vector_norm(x, dim=-1, keepdim=True), floor)
        direction = x / length
        ctx.save_for_backward(direction, length)
        return direction

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        direction, length = ctx.saved_tensors
        along = torch.linalg.vecdot(grad, direction).unsqueeze(-1)
        return torch.addcmul(grad, direction, along, value=-1).div_(length), None
