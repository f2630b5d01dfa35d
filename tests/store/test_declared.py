"""What a study declares was committed before its runs, or the file that was not is named."""

import hashlib
import subprocess

import pytest

from ict_core.store.declared import declared, values_hash


@pytest.fixture
def repository(tmp_path):
    """A commit with two declaring files, then one that changes another file: the runs'."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    study, claims = tmp_path / "configs" / "studies" / "s.yaml", tmp_path / "configs" / "claims.yaml"
    study.parent.mkdir(parents=True)
    study.write_text("gates: 1\n")
    first = commit(tmp_path, claims, "claims: 1\n")
    return tmp_path, study, claims, first, commit(tmp_path, tmp_path / "code.py", "x = 1\n")


def commit(folder, file, text):
    file.write_text(text)
    git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "a change"], check=True)
    return subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()


def test_an_earlier_commit_holds_what_was_declared(repository):
    _, study, claims, first, runs = repository
    told = declared([claims, study], [runs, runs])
    assert told["commit"] == first and told["after"] == []
    sha256 = hashlib.sha256(b"gates: 1\n").hexdigest()
    values = values_hash(study)
    assert told["files"]["configs/studies/s.yaml"] == {"sha256": sha256, "values_sha256": values, "commit": first}
    assert declared([claims, study], [first])["after"] == []  # the commit itself


def test_a_file_that_changed_after_the_runs_is_named(repository):
    folder, study, claims, _, runs = repository
    last = commit(folder, study, "gates: 2\n")
    told = declared([claims, study], [runs])
    assert told["after"] == ["configs/studies/s.yaml"] and told["commit"] == last
    assert declared([claims, study], [last])["after"] == []
    assert declared([claims, study], [last, runs])["after"] == ["configs/studies/s.yaml"]  # one run was earlier


def test_a_change_of_comments_or_of_a_key_that_is_no_more_changes_nothing(repository):
    folder, study, claims, first, runs = repository
    last = commit(folder, study, "gates: 1  # as before\nseeds_per_base: 1\n")
    told = declared([claims, study], [runs])
    assert told["after"] == [] and told["commit"] == first
    assert told["files"]["configs/studies/s.yaml"]["commit"] == first
    assert declared([claims, study], [last])["commit"] == last
    commit(folder, study, "gates: 1\nseeds_per_base: 2\n")
    assert declared([claims, study], [runs])["after"] == ["configs/studies/s.yaml"]


def test_the_hash_of_values_is_that_of_another_file_that_says_the_same(tmp_path):
    hashes = []
    for text in ("a: [{b: 2}]  # two\n", "a: [{b: 2, bound_with: c}]\nseeds_per_base: 1\n", "a: [{b: 3}]\n"):
        file = tmp_path / "s.yaml"
        file.write_text(text)
        hashes.append(values_hash(file))
    assert hashes[0] == hashes[1] != hashes[2]


def test_a_file_that_is_not_yaml_any_more_is_named(repository):
    folder, study, claims, _, runs = repository
    commit(folder, study, "gates: [1\n")
    assert declared([claims, study], [runs])["after"] == ["configs/studies/s.yaml"]


def test_a_file_is_read_as_utf_8_from_every_commit_and_in_every_locale(repository, monkeypatch):
    folder, study, claims, _, _ = repository
    study.write_bytes("note: é\n".encode("latin-1"))
    before = commit(folder, claims, "claims: 1\n")
    last = commit(folder, study, "note: é\n")
    assert declared([claims, study], [before])["after"] == ["configs/studies/s.yaml"]
    monkeypatch.setattr("locale.getencoding", lambda: "latin-1")
    assert declared([claims, study], [last])["after"] == []


def test_a_change_that_no_commit_holds_is_named(repository):
    _, study, claims, _, runs = repository
    claims.write_text("claims: 2\n")
    assert declared([claims, study], [runs])["after"] == ["configs/claims.yaml"]


def test_a_run_of_an_unknown_commit_leaves_it_unknown(repository, tmp_path_factory):
    _, study, claims, first, _ = repository
    for commits in (["f" * 40], [None], [first, "f" * 40]):
        assert declared([claims, study], commits)["after"] is None
    outside = tmp_path_factory.mktemp("outside") / "s.yaml"
    outside.write_text("gates: 1\n")
    told = declared([outside], [first])
    assert (told["commit"], told["after"], told["files"]["s.yaml"]["commit"]) == (None, None, None)
    assert declared([claims, outside], [first])["after"] == ["s.yaml"]  # not where the runs' code is
