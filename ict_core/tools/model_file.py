"""A model's YAML file, written from the checkpoint's own configuration, tokenizer and chat template."""

import json
import math
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from ict_core.config.inputs import Architecture
from ict_core.config.load import load_model
from ict_core.config.mistakes import faults_of
from ict_core.errors import UserError, one_line
from ict_core.models.fetch import checkpoint_sizes, doubled_start
from ict_core.models.read import read_config, read_tokenizer
from ict_core.process.failures import lost_connection
from ict_core.store.layout import MANIFEST, NAME, NAMED
from ict_core.store.manifests import read_manifest
from ict_core.training.fast.packed_forward import check_family

_SMALL_FILES = ("*.json", "tokenizer.model", "merges.txt", "chat_template.jinja")  # a checkpoint without weights
_DTYPES = ("bfloat16", "float32")
_PROMPT = "{prompt}"


def model_file(checkpoint: str, name: str, repository: Path) -> tuple[Path, list[str]]:
    """Write ``configs/models/<name>.yaml`` for a folder or an id of the hub; its path, and remarks on what to check.

    Raises:
        UserError: a study cannot give a model this name, the file is there already, or the checkpoint cannot be fetched
            or read.
    """
    if not re.fullmatch(NAME, name):
        raise UserError(f"the model's name {name!r}: it must be {NAMED}; give another by --name")
    path = repository / "configs" / "models" / f"{name}.yaml"
    if path.exists():
        raise UserError(f"{path}: is there already; remove it, or give another --name")
    with tempfile.TemporaryDirectory() as scratch:
        local = Path(checkpoint)
        if local.is_dir():
            folder, root = local.resolve(), repository.resolve()
            stated = folder.relative_to(root) if folder.is_relative_to(root) else folder
            lines = ["kind: local", f"path: {_quoted(str(stated))}"]
        else:
            folder, lines = _of_hub(checkpoint, Path(scratch))
        text, remarks = _text(lines, folder)
    path.write_text(text, encoding="utf-8")
    try:
        load_model(path)
    except UserError as error:
        return path, [*remarks, f"to be mended: {error}"]
    return path, remarks


def _of_hub(name: str, scratch: Path) -> tuple[Path, list[str]]:
    """A folder with the model's small files, and the YAML lines about the hub; offline, from the hub's cache."""
    import httpx
    from huggingface_hub import HfApi, constants, snapshot_download

    licence = "unknown"
    try:
        if constants.HF_HUB_OFFLINE:
            folder = Path(snapshot_download(name, allow_patterns=[*_SMALL_FILES]))  # its name is the commit
            revision = folder.name
        else:
            info = HfApi().model_info(name)
            folder, revision = scratch, str(info.sha)
            snapshot_download(name, revision=revision, local_dir=folder, allow_patterns=[*_SMALL_FILES])
            card = info.card_data.to_dict() if info.card_data else {}
            licence = card.get("license") or licence
    except (OSError, ValueError, httpx.HTTPError) as error:  # the hub's own errors are of these kinds
        text = "the hub was not reached" if lost_connection(error) else "the hub has no such model"
        mend = "name a folder, or set HF_HUB_OFFLINE=1 where the cache has the model"
        if constants.HF_HUB_OFFLINE:
            text, mend = "the hub's cache has none (HF_HUB_OFFLINE is set)", "name a folder, or unset it"
        raise UserError(f"{name}: there is no such folder, and {text}: {one_line(error)}; {mend}") from None
    return folder, ["kind: hub", f"hub: {name}", f"revision: {json.dumps(revision)}", f"licence: {json.dumps(licence)}"]


def _text(where: list[str], folder: Path) -> tuple[str, list[str]]:
    """The file's text, from the lines `where` and from what is in the checkpoint's folder, and remarks on it."""
    tokenizer, stated = read_tokenizer(folder), read_config(folder)
    config = stated.get_text_config()
    sizes = checkpoint_sizes(config)
    try:
        Architecture.model_validate(sizes)
    except ValidationError as error:
        faults = "; ".join(f"{key}: {text}" for key, text in faults_of(error, Architecture))
        raise UserError(f"{folder}: no model that a study can state ({config.model_type}): {faults}") from None
    stops = {*_ids(tokenizer.eos_token_id), *_ids(config.eos_token_id)}
    generation = folder / "generation_config.json"
    if generation.exists():
        stops |= set(_ids(_read_json(generation).get("eos_token_id")))
    ids = sorted(stops)
    text = ", ".join(f"{stop} ({tokenizer.convert_ids_to_tokens(stop)})" for stop in ids) or "none: state one"
    dtype = str(getattr(config, "dtype", None)).removeprefix("torch.")
    remarks = [f"stop_ids: {text}; the ids at which an answer ends, a chat's end of turn among them"]
    if dtype not in _DTYPES:
        remarks.append(f"dtype: the checkpoint has {dtype}; float32 is written")
        dtype = "float32"
    lines = [*where, "architecture:"]
    lines += [f"  {key}: {value}" for key, value in sizes.items()]
    lines += [f"tied_embeddings: {str(bool(config.tie_word_embeddings)).lower()}", f"dtype: {dtype}"]
    lines += [f"stop_ids: {ids}"]
    made = _study_of(folder)
    lines += _template(tokenizer, remarks) if made is None else _prompt_of(made, remarks)
    remarks.append("hardware: not written; without it the model runs on the CPU in one process (docs/models.md)")
    try:
        check_family(stated)
    except UserError as error:
        remarks.append(str(error))
    return "\n".join(lines) + "\n", remarks


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read: {type(error).__name__}: {error}") from None
    return content if isinstance(content, dict) else {}


def _ids(value: Any) -> Iterator[int]:
    """The token ids of a key that may hold one, several or anything else."""
    yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, int))


def _study_of(folder: Path) -> dict[str, Any] | None:
    """The model's configuration in the study that made this checkpoint; None if none did, or if it tells no prompt.

    A fetched base model's does not, as its weights do not depend on the prompt. A pretrained model has none.
    """
    for place in (folder, folder.parent):  # a base model's manifest is in it, a training's beside it
        if (place / MANIFEST).exists():
            try:
                config = read_manifest(place / MANIFEST).get("config", {})
            except UserError:  # another tool's file
                continue
            model = config.get("model") if isinstance(config, dict) else None
            told = isinstance(model, dict) and ("prompt" in model or model.get("kind") == "pretrained-from-scratch")
            return model if told else None
    return None


def _prompt_of(model: dict[str, Any], remarks: list[str]) -> list[str]:
    """The YAML lines of the study's prompt; none if it had none, so that a problem's prompt is used alone."""
    prompt = model.get("prompt")
    remarks.append("prompt: as in the study that made this checkpoint" + ("" if prompt else ", which had none"))
    if not prompt:
        return []
    stated = {"template": prompt["template"], "source": "the study that made the checkpoint"}
    return ["prompt:", *(f"  {key}: {_quoted(value)}" for key, value in stated.items())]


def _quoted(text: str) -> str:
    """A text as YAML on one line: JSON's escapes are not YAML's beyond 16 bits, as of an emoji."""
    return str(yaml.safe_dump(text, default_style='"', width=math.inf)).strip()


def _template(tokenizer: Any, remarks: list[str]) -> list[str]:
    """The YAML lines of the prompt; a remark says what has become of a chat template."""
    if not tokenizer.chat_template:
        remarks.append("prompt: the tokenizer has no chat template, so a problem's prompt stands alone")
        return []
    turns = [{"role": "user", "content": _PROMPT}]
    try:
        text = str(tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False))
    except Exception as error:  # a template is a program and may raise anything
        remarks.append(f"prompt: the chat template cannot be filled in ({type(error).__name__}: {error}); state one")
        return []
    if text.count(_PROMPT) != 1:
        remarks.append("prompt: the chat template does not hold the question once; state one")
        return []
    if doubled_start(tokenizer, text):
        text = text.removeprefix(tokenizer.bos_token)
        remarks.append(
            f"prompt: without the template's {tokenizer.bos_token}, which the tokenizer puts before every text"
        )
    remarks.append(f"prompt: {json.dumps(text)}; read it for a date or a system prompt that you do not mean")
    source = "the chat template of the checkpoint's tokenizer"
    return ["prompt:", f"  template: {_quoted(text)}", f"  source: {_quoted(source)}"]
