"""Every command line of the pages: it plans jobs, prints what is expected, or is one that the program takes."""

import re
import shlex
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from pages import PAGES, command_lines, commands
from recipes import RECIPES, steps
from repository_copy import REPOSITORY, Copy, jobs
from subcommands import SUBCOMMANDS

from ict_core.commands.cli import main
from ict_core.store.layout import StudyFiles, stored_folder

CELL = "results/mini/mini-s/ict-10/seed-1/grades.parquet"
PLANNED = {  # rules that a line plans where nothing has run, and how many jobs of each, counted by hand
    "snakemake --cores all": {"pretrain": 2 * 6, "train": 17 * 6, "generate": 19 * 6, "grade": 19 * 6, "report": 1},
    f"snakemake --cores all {CELL}": {"data": 1, "pretrain": 1, "train": 1, "generate": 1, "grade": 1},
    "snakemake --cores all paper_figures": {"train": 17 * 6, "statistics": 1, "paper_figures": 1},
    "snakemake --cores all regrade": {"regrade": 1},
    "snakemake --cores all --config=study=mini-ablations": {"train": 34 * 6, "grade": 35 * 6},
    "snakemake --cores all --config=study=smollm2": {
        **{"solutions": 1, "fetch_model_to_start": 1, "supervised_start": 1, "within_reach": 1},
        **{"train": 7, "grade": 1 + 7},
    },
    "snakemake --cores all rates --config=study=mini-rates": {
        **{"pretrain": 2 * 4, "train": 19 * 8, "tune_round": 4 * 19, "tune": 19, "rates": 1},
    },
    "snakemake --cores all token_study --config=study=smollm2-tokens": {
        **{"rollouts": 1, "read_tokens": 1, "token_gradients": 1, "token_frames": 1, "token_pages": 1},
    },
    "snakemake --cores all readings --config=study=readings": {
        **{"pretrain": 2, "train": 4, "rollouts": 6, "readings_of_model": 6, "readings": 1},
    },
    "snakemake --cores 1 prefetch --config=study=paper": {"data": 1, "fetch_model": 3},
    "snakemake --cores all --resources gpu=8 --config=study=paper": {
        "train": 90 + 18 * 5,
        "grade": 93,
    },
    "snakemake --cores all --resources gpu=1 --config=study=gpu-first": {
        **{"fetch_model": 1, "train": 4 * 5 + 4 * 4, "tune_round": 3 * 4, "tune": 4, "generate": 21, "grade": 21},
    },
}
PRINTED = {  # by a command that is cheap, with words added or replaced so that it reads what is there
    "ict diff ict-10 kl-10 mini-ablations": ((), "method.score: js -> kl\n1 key differs"),
    "ict explain results/mini/tables/contrasts.csv --cell mini-s/ict-10/grpo/average/pass@4": (
        ("results/mini", "results/reference/mini"),
        "\nsound as far as it could be checked: 12 runs, ",
    ),
    "ict explain results/mini/claims.json --cell gain-over-grpo": (
        ("results/mini", "results/reference/mini"),
        "\nsound as far as it could be checked: 24 runs, ",
    ),
    "ict verify --against results/reference/mini": (
        ("--against", "results/reference/mini --against"),
        "\nverdicts: 38 of 38 are the same\n",
    ),
    "ict plan mini": (("mini", "mini --cores 1"), "# Plan of the study mini\n"),
    "ict plan paper --cores 64": ((), "# Plan of the study paper\n"),
    "ict train --help": ((), "\n  Train one cell.\n"),
}
NOT_PLANNED = ("--report", "--lint")  # of Snakemake: test_workflow.py makes a report, `make lint` runs the other


def names_a_command(line: str) -> bool:
    return line.removeprefix("ict ") in SUBCOMMANDS


FOLLOWED = {line for title in RECIPES for step in steps(title) for line in commands(step)}  # by test_recipes.py
LINES = sorted({line for page in PAGES for line in command_lines(page) if not names_a_command(line)} - FOLLOWED)
SNAKEMAKE = [line for line in LINES if line.startswith("snakemake") and not any(map(line.__contains__, NOT_PLANNED))]


@pytest.fixture(scope="module")
def dry_runs(tmp_path_factory) -> dict[str, str]:
    """What every line of Snakemake prints as a dry run, in one copy in which nothing has run."""
    copy = Copy(tmp_path_factory.mktemp("fresh"))
    shutil.copytree(REPOSITORY / "results/reference/mini", copy.folder / "results/mini/regrade")
    before = sorted(copy.folder.glob("results/**/*"))
    printed = copy.snakemakes([["--dry-run", *shlex.split(line)[1:]] for line in SNAKEMAKE])
    assert sorted(copy.folder.glob("results/**/*")) == before
    return dict(zip(SNAKEMAKE, printed, strict=True))


@pytest.mark.long
def test_every_snakemake_line_plans_jobs_and_these_plan_so_many(dry_runs):
    assert PLANNED.keys() <= dry_runs.keys()
    for line, printed in dry_runs.items():
        planned, wanted = jobs(printed), PLANNED.get(line, {})
        assert planned, f"{line}\n{printed[-3000:]}"
        assert {rule: planned[rule] for rule in wanted} == wanted, line


@pytest.mark.slow
def test_a_forced_training_is_run_with_what_hangs_on_it_and_nothing_else(uninterrupted, tmp_path):
    [line] = (line for line in SNAKEMAKE if "--forcerun" in line)
    finished = Copy(tmp_path / "copy", uninterrupted)
    smoke = line.replace("mini/mini-s", "smoke/mini-xs").split()[1:]
    result = finished.run("snakemake", "--dry-run", *smoke, "--config=study=smoke")
    assert jobs(result.stdout) == Counter(train=1, generate=1, grade=1)


@pytest.mark.parametrize("line", PRINTED)
def test_an_ict_line_prints_this(line, capsys, monkeypatch):
    assert line in LINES
    monkeypatch.chdir(REPOSITORY)
    change, expected = PRINTED[line]
    arguments = (line.replace(*change, 1) if change else line).split()[1:]
    assert main(arguments) == 0
    assert expected in capsys.readouterr().out


def test_every_other_ict_line_is_one_that_ict_takes():
    for line in {line for line in LINES if line.startswith("ict ")} - PRINTED.keys():
        name, *arguments = line.replace("--gpus N", "--gpus 1").split()[1:]
        SUBCOMMANDS[name].make_context(name, arguments)


def test_every_make_line_is_one_that_make_takes():
    for line in (line for line in LINES if line.startswith("make ")):
        command = ["make", "--dry-run", *line.split()[1:]]
        result = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
        assert result.returncode == 0 and result.stdout, (line, result.stderr)
        for study in re.findall(r"STUDY=(\S+)", line):
            stored = StudyFiles(REPOSITORY / stored_folder(study))
            # rates stand alone where a study has no runs
            rates = line.startswith("make reference ") and stored.rewards.name
            assert stored.settings.exists() or rates and (stored.results / rates).exists(), study


@pytest.mark.slow
def test_what_the_lines_name_is_there(uninterrupted):
    """Files of the repository, and what a run has made; the names of other files are placeholders."""
    words = {word for line in LINES for word in shlex.split(line)}
    files = {word for word in words if word.startswith(("benchmarks/", "configs/", "examples/", "scripts/", "tests/"))}
    assert [file for file in files if not Path(REPOSITORY, file).exists()] == []
    made = {word for word in words if re.match(r"results/(mini|smoke)/", word) and "regrade" not in word}
    smoke = {word: word.replace("results/mini/", "results/smoke/").replace("/mini-s/", "/mini-xs/") for word in made}
    assert [word for word, file in smoke.items() if not (uninterrupted / file).exists()] == []
    assert len(files) > 10 and len(made) > 5
