"""`make` with a study's name: it writes and removes that study's own folders alone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ict_core.store.layout import RESERVED

ROOT = Path(__file__).resolve().parents[1]
NO_NAMES = ["", "..", "-rf", "../mine", "a b", "x;touch pwned", "x$$(touch pwned)", "`touch pwned`"]
NO_NAMES += ["it's", "x*", "Mini"]
PROGRAM = '#!/bin/sh\nprintf "%s|" "${0##*/}" "$@"\n'  # in place of the environment's: prints its words
FINISHED = ["a.parquet", "manifest.json", "study.json", "claims.json", "claims.md", "answer.md"]
FINISHED += [f"figures/{name}.png" for name in ("forest", "bench", "batches")]
FINISHED += ["tables/main.csv", "tables/main.md", "tables/main.tex"]


@pytest.fixture
def checkout(tmp_path) -> Path:
    """What `make` reads, with results of studies of which git tracks some, and programs that only say what they got."""
    folder = tmp_path / "checkout"
    for file in ("Makefile", "pyproject.toml", "requirements/cpu.lock", "ict_core/store/layout.py"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, folder / file)
    for name in ("mini", "mine", "tracked", "unfinished", *RESERVED):
        (folder / "configs/studies").mkdir(parents=True, exist_ok=True)
        (folder / f"configs/studies/{name}.yaml").touch()
        (folder / f"results/{name}").mkdir(parents=True)
        (folder / f"results/{name}/file").touch()
    for file in [f"{study}/{file}" for study in ("mine", "reference/mini", *RESERVED) for file in FINISHED]:
        (folder / "results" / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / "results" / file).write_text(file)
    git = ["git", "-C", str(folder)]
    for command in (["init", "-q"], ["add", "results/tracked", "results/reference"]):
        subprocess.run([*git, *command], check=True)
    for program in ("snakemake", "ict", "python"):
        (folder / "bin").mkdir(exist_ok=True)
        (folder / "bin" / program).write_text(PROGRAM)
        (folder / "bin" / program).chmod(0o755)
    (folder / "installed").touch()
    return folder


def make(folder: Path, target: str, study: str | None) -> subprocess.CompletedProcess[str]:
    given = [] if study is None else [f"STUDY={study}"]
    command = ["make", target, *given, "BIN=bin", "STAMP=installed", f"PYTHON={sys.executable}"]
    inherited = {name: value for name, value in os.environ.items() if name not in ("STUDY", "MAKEFLAGS", "MAKELEVEL")}
    return subprocess.run(command, cwd=folder, env=inherited, capture_output=True, text=True, check=False)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.parent.rglob("*") if ".git" not in path.parts)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["clean", "reference", "figures", "tokens", "survive"])
def test_a_name_that_is_no_study_s_is_refused_in_one_line_and_nothing_is_touched(checkout, target):
    before = files(checkout)
    for name in [*NO_NAMES, *RESERVED] if target == "clean" else [NO_NAMES[1], *RESERVED][:2]:  # all have one check
        done = make(checkout, target, name)
        told, *end = done.stderr.splitlines()
        assert done.returncode == 2 and done.stdout == "", name
        assert told.startswith(f"make: STUDY: {name.replace('$$', '$')!r} is not allowed; allowed: "), told
        assert len(end) == 1 and end[0].startswith("make: ***")
        assert files(checkout) == before


def test_clean_removes_the_results_of_one_study_and_none_that_git_tracks(checkout):
    before = files(checkout)
    for name, told in (("tracked", "git tracks no file"), ("nothere", "configs/studies/nothere.yaml")):
        done = make(checkout, "clean", name)
        assert done.returncode == 2 and f"make: STUDY: '{name}' is not allowed; allowed: " in done.stderr
        assert told in done.stderr and files(checkout) == before
    assert make(checkout, "clean", "mine").returncode == 0
    assert files(checkout) == [path for path in before if "mine" not in path.parts]


def test_reference_replaces_the_stored_run_of_a_finished_study_alone(checkout):
    shutil.copytree(checkout / "results/mine", checkout / "results/rebuilt/mine")
    for file in FINISHED:
        (checkout / "results/rebuilt/mine" / file).write_text(f"rebuilt/mine/{file}")
    before = files(checkout)
    done = make(checkout, "reference", "unfinished")
    assert done.returncode == 2 and "results/unfinished/answer.md" in done.stderr and files(checkout) == before
    for _ in range(2):  # the second in place of the first
        done = make(checkout, "reference", "mine")
        assert done.returncode == 0, done.stderr
        stored = checkout / "results/reference/mine"
        assert {path.relative_to(stored).as_posix() for path in stored.rglob("*") if path.is_file()} == set(FINISHED)
        (stored / "old").touch()
    assert [path for path in files(checkout) if stored not in [path, *path.parents]] == before
    for file in FINISHED:  # the evidence is what the stored frames give
        made = "mine" if file in ("a.parquet", "manifest.json", "study.json") else "rebuilt/mine"
        assert (stored / file).read_text() == f"{made}/{file}"
    fewer, rebuilt = "python|scripts/fewer_tokens.py|results/reference/mine|", "stored=results/reference/mine|"
    assert 0 <= done.stdout.index(fewer) < done.stdout.index(rebuilt)


def test_reference_stores_the_rates_of_a_study_that_chose_rates_alone(checkout):
    rates = checkout / "results/unfinished/rates"
    rates.mkdir()
    for name in ("rates.json", "rewards.parquet", "manifest.json"):
        (rates / name).write_text(name)
    done = make(checkout, "reference", "unfinished")
    assert done.returncode == 0 and "fewer_tokens.py|" not in done.stdout, done.stderr
    stored = checkout / "results/reference/unfinished"
    assert {path.name: path.read_text() for path in stored.iterdir()} == {p.name: p.name for p in rates.iterdir()}


@pytest.mark.parametrize(
    ("target", "study", "run"),
    [
        ("figures", None, "stored=results/reference/mini|results=results/rebuilt/mini|"),
        ("tokens", "mini", "--stored|results/reference/mini|--results|results/rebuilt/mini|"),
        ("survive", "mine", "--study|mine|--kills|30|--reference|results/uninterrupted/mine|"),
    ],
)
def test_a_stored_run_is_shown_and_a_study_killed_by_its_name(checkout, target, study, run):
    done = make(checkout, target, study)
    assert done.returncode == 0 and run in done.stdout


def test_a_study_that_is_not_stored_cannot_be_shown(checkout):
    done = make(checkout, "figures", "mine")
    assert done.returncode == 2 and "study.json" in done.stderr


@pytest.mark.parametrize("name", ["x$(touch pwned)", 'x"y', "it's; fine"])
def test_an_environment_is_not_made_where_its_programs_would_run_the_folder_s_name(checkout, name):
    folder = checkout.rename(checkout.with_name(name))
    assert make(folder, "figures", None).returncode == 0  # where there is one, from elsewhere
    command = ["make", "env", "PYTHON=false"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    refused = f"make: {folder} is not allowed" in done.stderr
    assert done.returncode == 2 and refused == (name != "it's; fine")
    assert [*folder.parent.rglob("pwned")] == []
