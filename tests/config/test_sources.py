"""The folders that a study names: looked for before a job starts, and by nothing that reads no data."""

import json
import re
from pathlib import Path

import pytest

from ict_core.commands import cli
from ict_core.config.load import check_sources, load_study
from ict_core.errors import UserError

MODEL = "configs/models/tiny.yaml"
STUDY = "configs/studies/named.yaml"
LOCAL = """\
kind: local
path: checkpoints/tiny
architecture:
  {hidden_size: 64, layers: 2, heads: 2, kv_heads: 2, intermediate_size: 64, vocab_size: 352, max_positions: 160}
tied_embeddings: true
dtype: float32
stop_ids: [0]
"""


@pytest.fixture
def named(configs) -> Path:
    """A repository whose study names a mirror and a local model, neither of which is there."""
    text = (configs / "studies/mini.yaml").read_text().replace("study: mini", "study: named")
    text = text.replace("  seed: 0\n", "  seed: 0\n  mirror: rows\n").replace("mini-m", "tiny")
    (configs / "studies/named.yaml").write_text(text)
    (configs / "models/tiny.yaml").write_text(LOCAL)
    return Path.cwd()


def test_what_is_not_there_is_told_with_file_key_value_and_what_is_allowed(named):
    study = load_study(named / STUDY)
    with pytest.raises(UserError) as error:
        check_sources(study, named, named / "results/named")
    model, mirror = str(error.value).splitlines()
    assert model.startswith(f"{MODEL}: path: 'checkpoints/tiny': ") and "*.safetensors" in model
    assert f" {named}/checkpoints/tiny; allowed: " in model
    assert mirror.startswith(f"{STUDY}: data.mirror: 'rows': ") and "OWNER/NAME/CONFIG/SPLIT.jsonl" in mirror
    assert f" {named}/rows; allowed: " in mirror


def test_where_a_model_lies_says_nothing_of_a_training_or_the_evidence(named):
    study = load_study(named / STUDY)
    cell = next(cell for cell in study.cells() if cell.model == "tiny")
    told = [study.resolve(cell), *(study.stage_config(of, cell) for of in ("generate", "evidence"))]
    told.append(study.stage_config("base", study.base_of(cell)))  # in a manifest, and so in stored cells
    assert "checkpoints" not in json.dumps(told)


def with_paths(root: Path, path: str) -> None:
    """The study's mirror and its local model in another place."""
    for file, key in ((STUDY, "mirror"), (MODEL, "path")):
        text = (root / file).read_text()
        (stated,) = re.findall(rf"{key}: .*", text)
        (root / file).write_text(text.replace(stated, f"{key}: {json.dumps(path)}"))


@pytest.fixture
def linked(named, tmp_path_factory) -> Path:
    """The repository with a link to a folder outside and one to a folder inside."""
    (named / "kept").mkdir()
    for link, target in (("link", tmp_path_factory.mktemp("outside")), ("within", named / "kept")):
        (named / link).symlink_to(target)
    return named


@pytest.mark.parametrize("path", ["..", "../outside", "kept/../../outside", "link/deeper", "./link/../x", "a\0b"])
def test_a_relative_path_stays_in_the_project(linked, path):
    with_paths(linked, path)
    with pytest.raises(UserError) as error:
        load_study(linked / STUDY)
    lines = str(error.value).splitlines()
    keys = (f"{MODEL}: path", f"{STUDY}: data.mirror")
    assert all(line.startswith(f"{key}: {path!r} ") for line, key in zip(lines, keys, strict=True)), lines


@pytest.mark.parametrize("path", ["kept", "kept/../kept", "within", "not/there/yet", "a..b", "/absolute"])
def test_a_path_inside_or_an_absolute_one_is_taken(linked, path):
    with_paths(linked, path)
    study = load_study(linked / STUDY)
    assert study.data.mirror == study.models["tiny"].path == path
    assert study.stage_config("evidence")["data"]["mirror"] is None  # a place of one machine, in no stored file


@pytest.mark.parametrize("part", ["..", "../x", "a/../b", "a/b/c", "/a", "a\\b", ".", ""])
@pytest.mark.parametrize("key", ["hub: openai/gsm8k", "configs: [main]", "split: test"])
def test_a_data_set_s_names_are_no_paths(configs, edit, key, part):
    name, value = key.split(": ")
    file = "data/gsm8k-train.yaml"
    edit(file, key, f"{name}: {json.dumps([part] if value.startswith('[') else part)}")
    with pytest.raises(UserError, match=rf"^configs/{file}: {name}[^ ]*: "):
        load_study(configs / "studies/paper.yaml")


def test_a_mirror_is_needed_until_the_problems_are_made_and_a_model_always(named):
    study, results = load_study(named / STUDY), named / "results/named"
    (results / "data").mkdir(parents=True)
    (results / "data/train.parquet").touch()
    with pytest.raises(UserError, match="data.mirror"):
        check_sources(study, named, results)
    (results / "data/eval.parquet").touch()
    with pytest.raises(UserError, match=f"^{MODEL}: path: [^\n]*$"):
        check_sources(study, named, results)
    (named / "checkpoints").mkdir()
    (named / "checkpoints/tiny").touch()  # a file is no folder
    with pytest.raises(UserError, match="no folder .*checkpoints/tiny;"):
        check_sources(study, named, results)
    (named / "checkpoints/tiny").unlink()
    (named / "checkpoints/tiny").mkdir()
    check_sources(study, named, results)


def test_ict_check_refuses_and_what_reads_no_data_does_not(named, capsys):
    assert cli.main(["check", "--files", STUDY]) == 2
    error = capsys.readouterr().err
    assert "tiny.yaml: path: " in error and "named.yaml: data.mirror: " in error
    (named / "results/named").mkdir(parents=True)
    for command in (["status", STUDY], ["diff", "grpo", "ict-10", STUDY], ["settings", "--study", STUDY, "--out", "s"]):
        assert cli.main(command) == 0, capsys.readouterr().err
    for folder in ("rows", "checkpoints/tiny"):
        (named / folder).mkdir(parents=True)
    assert cli.main(["check", "--files", STUDY]) == 0


def test_a_study_that_shall_stand_beside_another_is_stored(named):
    path = named / "configs/studies/mini.yaml"
    path.write_text(f"{path.read_text()}beside: [mini-20, mini-agian]\n")
    stored = named / "results/reference"
    for name in ("mini-20", "mini-again", "mini-rates"):  # the last has rates alone
        (stored / name).mkdir(parents=True)
    for name in ("mini-20", "mini-again"):
        (stored / name / "claims.json").touch()
    with pytest.raises(UserError) as error:
        check_sources(load_study(path), named, named / "results/mini")
    told = f"configs/studies/mini.yaml: beside[1]: 'mini-agian': there is no file {stored}/mini-agian/claims.json; "
    assert str(error.value) == told + "allowed: mini-20, mini-again"
