"""Manifests and fingerprints."""

import getpass
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ict_core.errors import Damaged, UserError
from ict_core.store import manifests
from ict_core.store.files import hash_file, hash_tree, hash_weights
from ict_core.store.manifests import (
    check_files,
    file_hashes,
    git_state,
    manifest,
    read_manifest,
    write_json,
    write_manifest,
)


def test_a_manifest_says_what_ran_and_where():
    made = manifest({"seed": 3})
    assert made["config"] == {"seed": 3}
    assert made["packages"]["numpy"] and made["packages"]["pandas"]
    assert made["python"].startswith("3.")
    assert made["platform"]["cores"] >= 1 and made["platform"]["cpu"]
    assert len(made["source"]["sha256"]) == 64
    assert made["source"]["loaded"]["store/manifests.py"] == hash_file(Path(manifests.__file__))[:16]
    assert made["exit_status"] == 0
    json.dumps(made, allow_nan=False)


def test_a_manifest_gives_nothing_private_away(monkeypatch):
    monkeypatch.setenv("ICT_TEST_SECRET", "hunter2-hunter2")
    text = json.dumps(manifest({}))
    assert "hunter2" not in text
    for private in (str(Path.home()), str(Path.cwd()), sys.prefix, os.uname().nodename):
        assert private not in text
    assert f'"{getpass.getuser()}"' not in text


def test_torch_is_never_imported_for_a_manifest():
    code = "import sys, ict_core.store.manifests as p; m = p.manifest({}); print('torch' in sys.modules, m['process'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False") and "'torch_threads': None" in done.stdout


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, "-C", str(folder), *arguments], check=True, capture_output=True)


def test_git_state_follows_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert git_state(tmp_path) == {"commit": None, "dirty": None}
    git(tmp_path, "init")
    (tmp_path / "a").write_text("1")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-m", "a")
    clean = git_state(tmp_path)
    assert len(clean["commit"]) == 40 and clean["dirty"] is False
    (tmp_path / "a").write_text("2")
    assert git_state(tmp_path) == {"commit": clean["commit"], "dirty": True}


def test_a_slow_git_leaves_it_open_what_is_committed(tmp_path, monkeypatch):
    (slow := tmp_path / "git").write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(manifests, "_GIT_SECONDS", 0.1)
    assert git_state(tmp_path) == {"commit": None, "dirty": None}
    with pytest.raises(UserError, match="git log took over"):
        manifests.git(tmp_path, "log")


def test_json_is_sorted_and_whole_or_absent(tmp_path):
    path = tmp_path / "new" / "a.json"
    write_json(path, {"b": 1, "a": "é"})
    assert path.read_text(encoding="utf-8") == '{\n  "a": "é",\n  "b": 1\n}\n'
    before = path.read_bytes()
    for bad in (float("nan"), object()):
        with pytest.raises((ValueError, TypeError)):
            write_json(path, {"a": bad})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_hash_file_is_sha256(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")  # the first example of the standard, FIPS 180
    assert hash_file(tmp_path / "a") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def tree(folder: Path) -> Path:
    (folder / "code" / "sub").mkdir(parents=True)
    (folder / "code" / "a.py").write_text("a")
    (folder / "code" / "sub" / "b.py").write_text("b")
    return folder / "code"


def test_hash_tree_depends_on_names_and_bytes_only(tmp_path):
    one, two = tree(tmp_path / "1"), tree(tmp_path / "2")
    assert hash_tree([one]) == hash_tree([two])
    for cache in ("__pycache__", ".hidden"):
        (two / "sub" / cache).mkdir()
        (two / "sub" / cache / "b.pyc").write_bytes(b"x")
    assert hash_tree([one]) == hash_tree([two])
    assert hash_tree([one / "a.py", one / "sub"]) == hash_tree([two / "sub", two / "a.py"])
    (two / "sub" / "b.py").rename(two / "sub" / "c.py")
    assert hash_tree([one]) != hash_tree([two])
    (one / "a.py").write_text("A")
    assert hash_tree([one / "a.py"]) != hash_tree([two / "a.py"])
    with pytest.raises(FileNotFoundError):
        hash_tree([tmp_path / "none"])


def test_the_hash_of_weights_is_that_of_the_one_file_or_of_all_shards(tmp_path):
    with pytest.raises(UserError, match="no \\*.safetensors there"):
        hash_weights(tmp_path)
    first, second = (tmp_path / f"model-0000{i}-of-00002.safetensors" for i in (1, 2))
    first.write_bytes(b"abc")
    (tmp_path / "config.json").write_text("{}")
    assert hash_weights(tmp_path) == hash_file(first)
    second.write_bytes(b"d")
    both = hash_weights(tmp_path)
    assert both == hash_tree([second, first]) != hash_file(first)
    (tmp_path / "config.json").write_text("{ }")
    assert hash_weights(tmp_path) == both
    second.write_bytes(b"e")
    assert hash_weights(tmp_path) != both


def test_a_manifest_comes_back_or_is_named_as_damaged(tmp_path):
    path = tmp_path / "manifest.json"
    content = {"b": [1.5, None], "a": {"é": True}}
    write_manifest(path, content)
    assert read_manifest(path) == content
    whole = path.read_bytes()
    for spoiled in (whole.replace(b"1.5", b"1.6"), whole[:-20], b"\xff", whole.replace(b"true", b"false")):
        path.write_bytes(spoiled)
        with pytest.raises(Damaged, match=r"manifest\.json: ") as error:
            read_manifest(path, tmp_path)
        assert error.value.output == tmp_path
    write_json(path, content)
    with pytest.raises(UserError, match="holds no checksum"):
        read_manifest(path)
    with pytest.raises(UserError, match="no such file"):
        read_manifest(tmp_path / "none.json")


@pytest.mark.parametrize("inside", [True, False])
def test_a_checkpoint_s_files_are_held_against_its_manifest(inside, tmp_path):
    """The manifest lies in a base model's folder, and above a trained model's."""
    folder = tmp_path / "train"
    model = folder if inside else folder / "model"
    model.mkdir(parents=True)
    (model / "model.safetensors").write_bytes(bytes(100))
    (model / "config.json").write_text("{}")
    (folder / "beside.txt").write_text("x")
    write_manifest(folder / "manifest.json", {"files": file_hashes(folder), "stage": "train"})
    assert check_files(model)["stage"] == "train"
    (model / "later").write_text("not of the checkpoint")
    check_files(model)
    (folder / "beside.txt").write_text("y")
    if not inside:
        check_files(model)  # not of this checkpoint
    (folder / "beside.txt").write_text("x")
    weights = bytearray(100)
    weights[50] ^= 1
    (model / "model.safetensors").write_bytes(weights)
    with pytest.raises(Damaged, match="model.safetensors: its bytes") as error:
        check_files(model)
    assert error.value.output == folder
    (model / "model.safetensors").unlink()
    with pytest.raises(Damaged, match="no such file, .* manifest"):
        check_files(model)
    write_manifest(folder / "manifest.json", {"study": "mini"})
    with pytest.raises(UserError, match="names no files"):
        check_files(model)
