"""Reads checkpoint folders as data: safetensors weights, and no code or pickle that the folder may hold."""

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
    """A checkpoint's tokenizer; options as of ``AutoTokenizer``.

    Raises:
        UserError: it is missing, damaged, or needs code of its own.
    """
    return _read(AutoTokenizer, folder, "tokenizer", options)


def read_config(folder: Path) -> PreTrainedConfig:
    """A checkpoint's configuration.

    Raises:
        UserError: it is missing, damaged, or needs code of its own.
    """
    return _read(AutoConfig, folder, "config.json", {})


def read_model(folder: Path, dtype: Dtype) -> PreTrainedModel:
    """A checkpoint's model with weights of a type.

    Raises:
        UserError: weights or configuration are missing, damaged or no safetensors, or the model needs code of its own.
    """
    check_weights(folder)
    if (folder / "adapter_config.json").exists():  # which names another checkpoint, to be loaded in place of this one
        raise UserError(f"{folder}: holds an adapter; allowed: a model of its own, so merge it into its base model")
    return _read(AutoModelForCausalLM, folder, "model", {"dtype": dtype, "use_safetensors": True})


def check_weights(folder: Path) -> None:
    """Hold the names and headers of a checkpoint's weight files against their formats; no tensor is read.

    Raises:
        UserError: there are no safetensors, one of them is something else, or the index is none or names other files.
    """
    present = {path.name: path for path in folder.glob("*.safetensors")}
    if not present:
        raise UserError(f"{folder}: no safetensors weights there; run the stage that makes this checkpoint")
    index = folder / INDEX
    if index.exists():
        try:
            named = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{index}: not an index of weights ({type(error).__name__}: {error})") from None
        if other := sorted(map(str, named - present.keys())):
            raise UserError(f"{index}: names {', '.join(other[:3])}; allowed: safetensors files that lie beside it")
    for path in present.values():
        try:
            with safe_open(path, framework="numpy"):
                pass
        except (OSError, SafetensorError) as error:
            raise UserError(f"{path}: not a safetensors file ({error}); make or fetch the checkpoint again") from None


def _read(auto: Any, folder: Path, what: str, options: dict[str, Any]) -> Any:
    try:
        return auto.from_pretrained(folder, trust_remote_code=False, local_files_only=True, **options)
    except Exception as error:  # the libraries raise whatever a damaged file leads them to
        raise UserError(
            f"{folder}: the checkpoint's {what} cannot be read: {one_line(error)}; allowed: Hugging Face format, "
            "safetensors weights, no code of its own"
        ) from None
