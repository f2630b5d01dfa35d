"""A path in a configuration file stays in the project unless it is absolute, and a data set has a commit."""

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from ict_core.config import load_study
from ict_core.config._inputs import MirrorCopy, TrainingSet
from ict_core.errors import UserError

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.fixture(scope="module")
def configs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(CONFIGS, folder / "configs")
    before = Path.cwd()
    os.chdir(folder)
    yield folder / "configs"
    os.chdir(before)


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
