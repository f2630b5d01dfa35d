"""Reads checkpoint folders as data: safetensors weights, but no code or pickles that the folder may hold."""

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from ict_core.config.inputs import Dtype
from ict_core.errors import UserError, one_line

INDEX = "model.safetensors.index.json"


def read_tokenizer(folder: Path, **options: Any) -> PreTrainedTokenizerBase:
    """A checkpoint's tokenizer, with ``AutoTokenizer``'s options. UserError: it is missing, damaged, or needs code."""
    return _read(AutoTokenizer, folder, "tokenizer", options)


def read_config(folder: Path) -> PreTrainedConfig:
    """A checkpoint's configuration. UserError: it is missing, damaged, or needs code of its own."""
    return _read(AutoConfig, folder, "config.json", {})


def read_model(folder: Path, dtype: Dtype) -> PreTrainedModel:
    """A checkpoint's model with weights in the given dtype.

    Raises:
        UserError: weights or config are missing, damaged, no safetensors or an adapter's, or the model needs own code.
    """
    check_weights(folder)
    if (folder / "adapter_config.json").exists():  # it names another checkpoint, which would be loaded instead
        raise UserError(f"{folder}: holds an adapter; allowed: a model of its own, so merge it into its base model")
    return _read(AutoModelForCausalLM, folder, "model", {"dtype": dtype, "use_safetensors": True})


def check_weights(folder: Path) -> None:
    """Check the names and headers of a checkpoint's weight files; no tensor is read.

    Raises:
        UserError: there are no safetensors files, one has another format, or the index is invalid or names other files.
    """
    present = {path.name: path for path in folder.glob("*.safetensors")}
    if not present:
        raise UserError(f"{folder}: no safetensors weights there; run the stage that makes this checkpoint")
    index = folder / INDEX
    if index.exists():
        try:
            names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{index}: not an index of weights ({type(error).__name__}: {error})") from None
        if absent := sorted(map(str, names - present.keys())):
            raise UserError(f"{index}: names {', '.join(absent[:3])}; allowed: safetensors files that lie beside it")
    for path in present.values():
        try:
            with safe_open(path, framework="numpy"):
                pass
        except (OSError, SafetensorError) as error:
            raise UserError(f"{path}: not a safetensors file ({error}); make or fetch the checkpoint again") from None


def _read(auto: Any, folder: Path, what: str, options: dict[str, Any]) -> Any:
    try:
        return auto.from_pretrained(folder, trust_remote_code=False, local_files_only=True, **options)
    except Exception as error:  # the libraries raise many kinds of errors for a damaged file
        raise UserError(
            f"{folder}: the checkpoint's {what} cannot be read: {one_line(error)}; allowed: Hugging Face format, "
            "safetensors weights, no code of its own"
        ) from None
