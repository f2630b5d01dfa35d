"""Results, checkpoints' JSON and mirrors' rows that hold garbage: one message for a user, and no other end."""

import json
import shutil
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ict_core.commands.cli import main
from ict_core.config.inputs import READERS
from ict_core.errors import UserError
from ict_core.evaluation.generate import stop_token_ids
from ict_core.evidence.stored import Stored
from ict_core.models.read import check_weights
from ict_core.problems.published.load import Item
from ict_core.store.manifests import read_manifest, write_manifest
from ict_core.store.records import GRADES, SCORES, read_frame, write_frame

GARBAGE = (b"", b"null", b"7", b"{", b"{}", b"[" * 100_000, b"\xff\xfe\x00", b"PAR1" * 10, b'{"a": NaN}')
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=9),
        st.sampled_from(["#### 5", "\\boxed{1}"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=5,
)
COLUMNS = ("question", "problem", "answer", "solution", "choices", "subject", "url", "id", "unique_id", "level", "type")
GPQA = ("Record ID", "Question", "Correct Answer", *(f"Incorrect Answer {i}" for i in (1, 2, 3)))
ROWS = st.dictionaries(st.sampled_from((*COLUMNS, *GPQA)), VALUES)


@pytest.mark.parametrize("content", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_in_a_file_is_told(tmp_path, content):
    for name in (
        "study.json",
        "scores.parquet",
        "generation_config.json",
        "model.safetensors",
        "model.safetensors.index.json",
    ):
        (tmp_path / name).write_bytes(content)
    readers = (
        lambda: Stored(tmp_path).settings,
        lambda: Stored(tmp_path).frame("scores"),
        lambda: read_frame(tmp_path / "scores.parquet", GRADES),
        lambda: read_manifest(tmp_path / "study.json"),
        lambda: stop_token_ids(tmp_path),
        lambda: check_weights(tmp_path),
    )
    for read in readers:
        with pytest.raises(UserError, match=str(tmp_path)):
            read()


def test_settings_of_another_shape_are_told(tmp_path):
    for content in ({"grid": 7}, {"grid": [{"methods": None}]}, {"grid": [], "study": "s", "note": "", "shown": 1}):
        write_manifest(tmp_path / "study.json", content)
        with pytest.raises(UserError, match="study.json"):
            _ = Stored(tmp_path).settings


def test_scores_without_a_sample_of_the_design_are_refused_before_anything_is_written(capsys, tmp_path):
    repository = Path(__file__).parents[1]
    for name in ("study.json", "scores.parquet"):
        shutil.copy(repository / "results/reference/mini" / name, tmp_path / name)
    scores = read_frame(tmp_path / "scores.parquet", SCORES)
    scores.loc[7, ["sampled", "n", "wrong"]] -= 1
    write_frame(scores, tmp_path / "scores.parquet", SCORES)
    command = f"statistics --stored {tmp_path} --results {tmp_path} --claims {repository}/configs/claims.yaml"
    assert main(command.split()) == 2
    told = "mini-s/base/seed-0, problem mini-word-0007 of mini-word: sampled is 7; allowed: 8, as in study.json"
    assert f"error: {tmp_path}/scores.parquet: {told}" in capsys.readouterr().err
    assert not (tmp_path / "statistics").exists()


@given(ROWS, st.sampled_from(sorted(READERS)))
def test_a_row_of_a_mirror_is_a_problem_or_not_as_published(row, reader):
    try:
        item = import_module(f"ict_core.{READERS[reader]}").read(row)
    except ValueError as error:
        assert str(error)
    else:
        assert item is None or (isinstance(item, Item) and json.dumps(item))


@pytest.mark.parametrize(
    "command",
    [
        "check --study {}",
        "statistics --stored {} --results {} --claims {}",
        "report --stored {} --results {}",
        "notebook --notebook {} --stored {} --results {}",
        "tokens {}",
    ],
)
def test_a_folder_or_garbage_in_place_of_a_file_is_one_error(capsys, tmp_path, command):
    (tmp_path / "folder").mkdir()
    (tmp_path / "garbage").write_bytes(b"\x00garbage")
    for name in ("folder", "garbage", "nothing/there", "garbage/below"):
        assert main(command.replace("{}", str(tmp_path / name)).split()) == 2
        assert capsys.readouterr().err.startswith("error: ")
