"""Whatever a configuration file holds, its loader ends soon, and with a study or with messages for a user."""

import os
import shutil
from pathlib import Path

import pytest
from hostile_files import CONFIGS, FILE_AND_CONTENT, FILES, SNIPPETS, WHOLE, ending, try_file, well_said
from hypothesis import given, settings

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


@settings(max_examples=150)
@given(FILE_AND_CONTENT)
def test_a_spoiled_file_is_refused_in_words_or_read(configs, spoiled):
    try_file(configs, *spoiled)


@pytest.mark.parametrize("content", WHOLE, ids=range(len(WHOLE)))
def test_what_is_no_configuration_is_refused(configs, content):
    assert try_file(configs, "training/smoke.yaml", content)
    assert not Path("ran").exists()


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
