"""Files and folders appear whole or not at all."""

import pytest

from ict_core.errors import UserError
from ict_core.store.files import appearing, write_text
from ict_core.store.layout import MANIFEST


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_takes_its_name_at_the_end(tmp_path):
    out = tmp_path / "new" / "a.txt"
    with appearing(out) as partial:
        partial.write_text("half")
        assert names(out.parent) == ["a.txt.partial"]
    assert names(out.parent) == ["a.txt"]
    write_text(out, "é\n")
    assert out.read_bytes() == "é\n".encode()


def test_a_folder_takes_the_place_of_another_whole(tmp_path):
    out = tmp_path / "model"
    for text in ("first", "second"):
        with appearing(out) as partial:
            partial.mkdir()
            (partial / MANIFEST).write_text(text)
            (partial / text).mkdir()
        assert names(out) == sorted([text, MANIFEST])
        assert names(tmp_path) == ["model"]


@pytest.mark.parametrize("name", ["of a user", MANIFEST])
def test_a_file_never_takes_the_place_of_a_folder(tmp_path, name):
    kept = tmp_path / "out" / name
    kept.mkdir(parents=True)
    with pytest.raises(UserError, match="out: a folder is there"), appearing(tmp_path / "out") as partial:
        partial.write_text("new")
    assert kept.exists() and names(tmp_path) == ["out"]


def test_no_job_writes_where_a_folder_is_that_no_job_made(tmp_path):
    (tmp_path / "out" / "of a user").mkdir(parents=True)
    with pytest.raises(UserError, match="out: a folder is there, with files"), appearing(tmp_path / "out"):
        pytest.fail("the work has begun")
    assert names(tmp_path / "out") == ["of a user"]


def test_what_a_job_left_that_was_killed_between_its_renames_is_removed(tmp_path):
    (tmp_path / "model.old.partial").mkdir()  # the old folder was moved away, the new one had no name yet
    (tmp_path / "model.partial").mkdir()
    with appearing(tmp_path / "model") as partial:
        partial.mkdir()
    assert names(tmp_path) == ["model"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_what_was_there(error, tmp_path):
    out = tmp_path / "a.txt"
    out.write_text("before")
    with pytest.raises(error), appearing(out) as partial:
        partial.write_text("half")
        raise error
    assert names(tmp_path) == ["a.txt"] and out.read_text() == "before"
