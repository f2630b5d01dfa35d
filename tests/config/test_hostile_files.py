"""Whatever a configuration file holds, its loader ends soon, and with a study or with messages for a user."""

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml
from hostile_files import CONFIGS, FILE_AND_CONTENT, FILES, SNIPPETS, WHOLE, ending, try_file, well_said
from hypothesis import given, settings
from pydantic import TypeAdapter, ValidationError

from ict_core.config import load_study
from ict_core.config._inputs import MirrorCopy, TrainingSet
from ict_core.errors import UserError


@pytest.fixture(scope="module")
def configs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    shutil.copytree(CONFIGS, folder / "configs")
    before = Path.cwd()
    os.chdir(folder)
    yield folder / "configs"
    os.chdir(before)


def test_the_files_are_of_every_kind(configs):
    folders = {path.name for path in CONFIGS.iterdir() if path.is_dir()} - {"accelerate"}
    assert folders == {Path(file).parent.name for file in FILES} - {""}
    for load in FILES.values():
        load(configs)


@pytest.mark.slow
@settings(max_examples=80)
@given(FILE_AND_CONTENT)
def test_a_spoiled_file_is_refused_in_words_or_read(configs, spoiled):
    try_file(configs, *spoiled)


@pytest.mark.slow
@pytest.mark.parametrize("content", WHOLE, ids=range(len(WHOLE)))
def test_what_is_no_configuration_is_refused(configs, content):
    assert try_file(configs, "training/smoke.yaml", content)
    assert not Path("ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_what_parsers_dislike_is_refused_as_a_value(configs, snippet):
    text = (CONFIGS / "training/smoke.yaml").read_bytes()
    assert try_file(configs, "training/smoke.yaml", text.replace(b"kl_coef: 0.0", b"kl_coef: " + snippet))


def _folder(path: Path) -> None:
    path.mkdir()


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _circle(path: Path) -> None:
    path.symlink_to(path.name)


def _fifo(path: Path) -> None:
    os.mkfifo(path)  # to open it waits for a writer


def _zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [_folder, _dangling, _circle, _fifo, _zeros])
@pytest.mark.parametrize("file", ["studies/smoke.yaml", "training/smoke.yaml", "claims.yaml"])
def test_what_is_no_file_is_refused(configs, file, make):
    path = configs / file
    path.unlink()
    make(path)
    try:
        with pytest.raises(UserError, match=f"configs/{file}: (cannot be read|no such file)") as error, ending():
            FILES[file](configs)
        well_said(error.value)
    finally:
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.copy(CONFIGS / file, path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("seeds: [0, 1]", f"seeds: {list(range(30_000))}"), "grid has"),
        (("models: [mini-xs]", f"models: {['mini-xs'] * 20_000}"), "grid has"),
        (("benchmarks: [", f"benchmarks: [{'no-such, ' * 20_000}"), "these are the first 100"),
    ],
    ids=["seeds", "models", "benchmarks"],
)
def test_a_long_list_costs_little(configs, change, named):
    text = (CONFIGS / "studies/smoke.yaml").read_text()
    assert change[0] in text
    (configs / "studies/smoke.yaml").write_text(text.replace(*change))
    try:
        with pytest.raises(UserError) as error, ending():
            FILES["studies/smoke.yaml"](configs)
        well_said(error.value)
    finally:
        shutil.copy(CONFIGS / "studies/smoke.yaml", configs / "studies/smoke.yaml")


LOCAL = """\
kind: local
path: {path}
architecture:
  {{hidden_size: 64, layers: 2, heads: 2, kv_heads: 2, intermediate_size: 64, vocab_size: 352, max_positions: 160}}
tied_embeddings: true
dtype: float32
stop_ids: [0]
"""


@pytest.fixture
def outside(configs) -> Path:
    """A folder beside the project's, to which two links in the project lead."""
    root = configs.parent
    folder = root.with_name("outside")
    (folder / "deeper").mkdir(parents=True, exist_ok=True)
    (root / "kept").mkdir(exist_ok=True)
    for link, target in (("link", folder), ("linked", Path("link/deeper")), ("within", Path("kept"))):
        if not (root / link).is_symlink():
            (root / link).symlink_to(target)
    return folder


def written(configs, path: str) -> dict[str, Path]:
    """A study that names a path in each key that takes one."""
    study = (CONFIGS / "studies/smoke.yaml").read_text().replace("mini-xs", "local")
    (configs / "models/local.yaml").write_text(LOCAL.format(path=path))
    (configs / "studies/mirrored.yaml").write_text(
        study.replace("study: smoke", "study: mirrored").replace("  seed: 0\n", f"  seed: 0\n  mirror: {path}\n", 1)
    )
    return {"configs/models/local.yaml: path": path, "configs/studies/mirrored.yaml: data.mirror": path}


@pytest.mark.parametrize(
    "path", ["..", "../outside", "kept/../../outside", "link", "link/deeper", "linked", "./link/../x", '"a\\0b"']
)
def test_a_relative_path_stays_in_the_project(configs, outside, path):
    keys = written(configs, path)
    with pytest.raises(UserError) as error:
        load_study(configs / "studies/mirrored.yaml")
    lines = str(error.value).split("\n")
    assert len(lines) == len(keys)
    for key in keys:
        (line,) = (line for line in lines if line.startswith(f"{key}: "))
        assert f"is not allowed; allowed: a path that stays inside the project's folder {configs.parent}" in line
        assert path.strip('"')[0] in line


@pytest.mark.parametrize("path", ["kept", "kept/../kept", "within", "not/there/yet", "a..b"])
def test_a_path_inside_or_an_absolute_one_is_taken(configs, outside, path):
    for chosen in (path, str(outside)):
        written(configs, chosen)
        study = load_study(configs / "studies/mirrored.yaml")
        assert study.data.mirror == study.models["local"].path == chosen
        assert study.stage_config("evidence")["data"]["mirror"] is None  # a place of one machine, in no stored file


@pytest.mark.parametrize("key", ["hub", "config", "split"])
@pytest.mark.parametrize("part", ["..", "../x", "a/../b", "a/b/c", "/a", "a\\b", ".", "a\0", ""])
def test_a_mirror_s_names_are_no_paths(key, part):
    good = {"hub": "owner/name", "config": "main", "split": "test", "columns": ["a"]}
    adapter = TypeAdapter(MirrorCopy)
    assert adapter.validate_json(json.dumps(good)).hub == "owner/name"
    with pytest.raises(ValidationError):
        adapter.validate_json(json.dumps(good | {key: part}))
    whole = yaml.safe_load((CONFIGS / "data/math-train.yaml").read_text())
    spoiled = {"hub": part} if key == "hub" else {"configs": [part]} if key == "config" else {"split": part}
    with pytest.raises(ValidationError):
        TypeAdapter(TrainingSet).validate_json(json.dumps(whole | spoiled, default=str))


@pytest.mark.parametrize("allow", [False, True])
def test_a_data_set_s_revision_is_a_commit_unless_the_file_says_otherwise(configs, allow):
    file = configs / "data/math-train.yaml"
    whole = yaml.safe_load(file.read_text())
    file.write_text(yaml.safe_dump(whole | {"revision": "main", "allow_unpinned": allow}))
    try:
        if allow:
            assert load_study(configs / "studies/paper.yaml").train_sets["math-train"].revision == "main"
        else:
            with pytest.raises(UserError, match="math-train.yaml: revision: 'main' is not allowed; allowed: a commit"):
                load_study(configs / "studies/paper.yaml")
    finally:
        shutil.copy(CONFIGS / "data/math-train.yaml", file)


def test_what_a_mapping_of_names_holds_is_told_by_its_key(configs):
    text = (CONFIGS / "studies/paper.yaml").read_text()
    for old, new, line in (
        ("aime-24: 32", "aime-24: x", "evaluation.samples_of.aime-24: 'x' is not allowed"),
        ("aime-24: 32", "AIME 24: 32", "evaluation.samples_of.AIME 24: 'AIME 24' is not allowed; allowed: a name"),
    ):
        assert old in text
        (configs / "studies/paper.yaml").write_text(text.replace(old, new, 1))
        try:
            with pytest.raises(UserError) as error:
                load_study(configs / "studies/paper.yaml")
        finally:
            shutil.copy(CONFIGS / "studies/paper.yaml", configs / "studies/paper.yaml")
        assert str(error.value).startswith(f"configs/studies/paper.yaml: {line}")
