"""Base models of the mini world, pretrained from scratch by a fixed rule and saved as ordinary checkpoints."""

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import GenerationConfig, PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from ict_core.config import Architecture, Pretraining
from ict_core.problems.mini import pretraining_documents, train_tokenizer
from ict_core.process import Progress
from ict_core.seeding import derive_seed
from ict_core.store import MANIFEST, appearing, cost, file_hashes, hash_weights, manifest, write_manifest
from ict_core.training._memory import reuse_freed_memory
from ict_core.training._muon import Muon
from ict_core.training._solution_loss import SolutionLoss

_IGNORED = -100
_BUCKET = 32  # batches sorted by length together, so that little is padded


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


def pretrain(
    architecture: Architecture, rule: Pretraining, held_out: set[str], resolved: dict[str, Any], out: Path
) -> list[float]:
    """Train a base model on generated documents and save it with tokenizer, generation config and manifest.

    ``rule.steps`` steps of ``rule.batch_sequences`` documents, loss on the solutions only, Muon for the matrices and
    AdamW for the rest, linear warm-up over 2 % and cosine decay to 10 % of the learning rates.

    Args:
        held_out: prompts that must not occur in the text.
        resolved: the model's resolved configuration, for the manifest.
        out: the folder, which appears whole or not at all.

    Returns:
        The loss of every step, nats a token.
    """
    started, tokens = time.perf_counter(), 0
    reuse_freed_memory()
    torch.set_num_threads(1)  # another number of threads gives other bytes
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
    documents = list(pretraining_documents(rule.seed, rule.steps * size, held_out))
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
