"""Base checkpoints from a folder or the hub: whole, as stated, with the stated stop ids, or one clear error."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
import torch
from huggingface_hub.errors import GatedRepoError
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, GenerationConfig

from ict_core.config.inputs import Architecture, HubModel, LocalModel
from ict_core.errors import UserError
from ict_core.models import fetch as checkpoints
from ict_core.store.files import hash_file, hash_tree

SIZES = Architecture(
    hidden_size=64, layers=2, heads=2, kv_heads=2, intermediate_size=64, vocab_size=352, max_positions=160
)
LARGER = SIZES.model_copy(update={"hidden_size": 128, "layers": 3})
FILE = "configs/models/tiny.yaml"
OUT = "results/tiny/base/seed-0/model"
STATED = {"architecture": SIZES, "tied_embeddings": True, "dtype": "float32", "stop_ids": (0, 5)}
COMMIT = "a1" * 20
WANTED = {
    *("config.json", "generation_config.json", "manifest.json", "model.safetensors"),
    *("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"),
}
HUB = HubModel(kind="hub", hub="Owner/tiny", revision=COMMIT, licence="MIT", **STATED)


@pytest.fixture
def source(tiny_checkpoint, tmp_path) -> Path:
    """A folder as the hub has it: with files that are not wanted and a generation config of its own."""
    folder = tmp_path / "source"
    shutil.copytree(tiny_checkpoint, folder)
    (folder / "generation_config.json").write_text('{"temperature": 0.1, "eos_token_id": 99}')
    (folder / "pytorch_model.bin").write_bytes(b"x")
    (folder / "modeling_tiny.py").write_text("raise RuntimeError")
    (folder / "README.md").write_text("")
    return folder


def local(**changed) -> LocalModel:
    return LocalModel(kind="local", **{"path": "source", **STATED, **changed})


def fetched(model, tmp_path) -> Path:
    checkpoints.fetch_model(model, FILE, tmp_path, {"model": {"name": "tiny"}}, tmp_path / OUT)
    return tmp_path / OUT


def refused(model, tmp_path, *parts: str) -> str:
    with pytest.raises(UserError) as error:
        fetched(model, tmp_path)
    message = str(error.value)
    assert message.startswith(f"{FILE}: ")
    assert [part for part in parts if part not in message] == []
    assert not (tmp_path / OUT).exists()
    return message


def test_a_model_that_the_study_cannot_use_is_refused_before_its_folder_appears(source, tmp_path):
    def usable(config):
        raise UserError(f"packed is not allowed for {config.model_type}")

    out = tmp_path / "out"
    with pytest.raises(UserError, match=rf"^{FILE}: packed is not allowed for qwen2$"):
        checkpoints.fetch_model(local(), FILE, tmp_path, {}, out, usable)
    assert not out.exists()


def test_a_local_model_is_copied_without_code_and_with_the_stated_stop_ids(source, tmp_path):
    (tmp_path / OUT).mkdir(parents=True)
    (tmp_path / OUT / "of a user").touch()
    with pytest.raises(UserError, match="files that no job made"):
        fetched(local(), tmp_path)
    (tmp_path / OUT / "of a user").unlink()
    out = fetched(local(), tmp_path)
    assert {path.name for path in out.iterdir()} == WANTED
    assert json.loads((out / "generation_config.json").read_text())["eos_token_id"] == [0, 5]
    assert [path.name for path in out.parent.iterdir()] == ["model"]
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["stage"], manifest["tokens"]) == ("fetch", 0)
    assert manifest["model_sha256"] == hash_file(source / "model.safetensors")
    assert manifest["config"] == {"model": {"name": "tiny"}}


def sharded(folder: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(folder)
    model.generation_config = GenerationConfig()
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="100KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 1


def test_a_sharded_model_is_the_same_model(source, tiny_checkpoint, tmp_path):
    sharded(source)
    out = fetched(local(), tmp_path)
    assert {path.name for path in out.glob("model*")} == {path.name for path in source.glob("model*.s*")}
    found, wanted = (AutoModelForCausalLM.from_pretrained(f).state_dict() for f in (out, tiny_checkpoint))
    assert all(torch.equal(found[name], tensor) for name, tensor in wanted.items())
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["model_sha256"] == hash_tree(source.glob("*.safetensors"))


def test_a_missing_shard_is_named(source, tmp_path):
    sharded(source)
    lost = max(source.glob("model-*.safetensors"))
    lost.unlink()
    refused(local(), tmp_path, "model.safetensors.index.json", lost.name)


@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        ({"architecture": LARGER}, ["hidden_size: 128", "hidden_size: 64", "architecture.layers: 3", "_layers: 2"]),
        ({"tied_embeddings": False}, ["tied_embeddings: False", "tie_word_embeddings: True"]),
        ({"stop_ids": (5,)}, ["stop_ids: [5]", "ends a text with 0", "a list that holds this id"]),
        ({"path": "nowhere"}, ["path: ", "nowhere is no folder"]),
    ],
)
def test_another_model_than_stated_is_refused(source, tmp_path, changed, parts):
    refused(local(**changed), tmp_path, *parts)


@pytest.mark.parametrize(
    ("file", "content", "parts"),
    [
        ("model.safetensors", None, ["no model*.safetensors", ".bin", "convert them"]),
        ("config.json", "{", ["config.json cannot be read"]),
        ("tokenizer.json", "{}", ["the checkpoint's tokenizer cannot be read"]),
        ("tokenizer.json", None, ["the checkpoint has no tokenizer"]),
    ],
)
def test_a_missing_or_unreadable_file_is_named(source, tmp_path, file, content, parts):
    (source / file).unlink()
    if content is not None:
        (source / file).write_text(content)
    refused(local(), tmp_path, *parts)


class Hub:
    """Stands for the network alone: the hub's answer to a revision, and the download of what was asked for."""

    def __init__(self, folder: Path, commit: str) -> None:
        self.folder, self.commit, self.asked = folder, commit, []

    def model_info(self, hub: str, revision: str) -> SimpleNamespace:
        self.asked.append((hub, revision))
        return SimpleNamespace(sha=self.commit)

    def snapshot_download(self, hub, *, revision, local_dir, allow_patterns, ignore_patterns) -> str:
        from huggingface_hub.utils import filter_repo_objects

        self.asked.append((hub, revision, allow_patterns, ignore_patterns))
        names = [path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file()]
        for name in filter_repo_objects(names, allow_patterns=allow_patterns, ignore_patterns=ignore_patterns):
            (local_dir / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.folder / name, local_dir / name)
        (local_dir / ".cache/huggingface").mkdir(parents=True)
        return str(local_dir)


@pytest.fixture
def hub(source, monkeypatch) -> Hub:
    (source / "original").mkdir()
    shutil.copy(source / "model.safetensors", source / "original/model.safetensors")
    made = Hub(source, COMMIT)
    monkeypatch.setattr(checkpoints, "HfApi", lambda: made)
    monkeypatch.setattr(checkpoints, "snapshot_download", made.snapshot_download)
    return made


def test_a_hub_model_comes_from_its_commit_with_safe_files_only(hub, tmp_path):
    out = fetched(HUB, tmp_path)
    info, (*download, allowed, ignored) = hub.asked
    assert list(info) == download == ["Owner/tiny", COMMIT]
    assert "model*.safetensors" in allowed and ignored == ["*/*"]
    assert not [p for p in allowed if re.search(r"\.(bin|pt|pth|py|pkl|msgpack|h5)|^\*$", p)]
    assert {path.name for path in out.iterdir()} == WANTED
    assert load_file(out / "model.safetensors").keys() == load_file(hub.folder / "model.safetensors").keys()
    assert [path.name for path in out.parent.iterdir()] == ["model"]


def test_the_commit_of_a_branch_is_recorded(hub, tmp_path):
    out = fetched(HUB.model_copy(update={"revision": "main", "allow_unpinned": True}), tmp_path)
    assert [asked[1] for asked in hub.asked] == ["main", COMMIT]
    assert json.loads((out / "manifest.json").read_text())["revision"] == COMMIT


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("no\nroute"),
        OSError("no\nroute"),
        GatedRepoError("no\nroute", response=httpx.Response(403, request=httpx.Request("GET", "https://hub.invalid"))),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_the_hub_refuses_is_one_line(hub, tmp_path, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(checkpoints, "snapshot_download", fail)
    message = refused(HUB, tmp_path, "Owner/tiny", COMMIT, "no route", "HF_TOKEN", "kind: local")
    assert "\n" not in message
