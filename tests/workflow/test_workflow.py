"""The workflow itself: the grid, its refusals, a whole smoke study, what reruns after an edit, and equal bytes."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PARTS = [
    "Snakefile",
    "workflow",
    "profiles",
    "ict_core",
    "configs",
    "requirements",
    "environment.yml",
    "pyproject.toml",
]
SMOKE = ("--configfile", "configs/studies/smoke.yaml")


class Copy:
    """A copy of the repository in which its own library runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in PARTS:
            source = REPOSITORY / part
            if source.is_symlink():
                (folder / part).symlink_to(source.readlink())
            elif source.is_dir():
                shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, folder / part)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"PYTHONPATH": str(self.folder), "PATH": path}
        return subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run("snakemake", "--cores", "2", *arguments)

    def planned(self, *arguments: str) -> list[tuple[str, str, str]]:
        """(rule, variant or "", reason) of every job that a dry run would start."""
        result = self.snakemake("--dry-run", *arguments)
        assert result.returncode == 0, result.stdout
        jobs = []
        for block in re.split(r"\n(?=(?:local)?rule \w+:)", result.stdout)[1:]:
            variant = re.search(r"wildcards:.*variant=([\w-]+)", block)
            reason = re.search(r"reason: (.*)", block)
            jobs.append((re.match(r"(?:local)?rule (\w+):", block)[1], variant[1] if variant else "", reason[1]))
        return jobs

    def append(self, file: str, text: str = "\n# an edit\n") -> None:
        path = self.folder / file
        path.write_text(path.read_text() + text)


@pytest.fixture
def fresh(tmp_path) -> Copy:
    return Copy(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Copy:
    """A copy in which the smoke study has run."""
    copy = Copy(tmp_path_factory.mktemp("smoke"))
    result = copy.snakemake(*SMOKE)
    assert result.returncode == 0, result.stdout[-5000:]
    assert "main table  results/smoke/tables/main.md" in result.stdout
    return copy


def restore(copy: Copy, file: str) -> None:
    shutil.copy2(REPOSITORY / file, copy.folder / file)


def test_the_default_study_is_the_whole_mini_grid(fresh):
    jobs = Counter(rule for rule, _, _ in fresh.planned())
    assert (jobs["pretrain"], jobs["train"], jobs["generate"], jobs["grade"]) == (2, 39, 41, 41)
    assert not (fresh.folder / "results").exists()


def test_the_default_profile_is_loaded(fresh):
    assert "profiles/default" in fresh.snakemake("--dry-run").stdout


def test_a_single_cell_is_asked_for_by_its_path(fresh):
    jobs = fresh.planned("results/mini/mini-m/ict-10/seed-2/grades.parquet")
    assert Counter(rule for rule, _, _ in jobs) == dict.fromkeys(("data", "pretrain", "train", "generate", "grade"), 1)


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("configs/studies/mini.yaml", "seeds: [0, 1, 2]", "seeds: []", ["mini.yaml", "grid[0].seeds"]),
        (
            "configs/studies/mini.yaml",
            "random-10]",
            "randm-10]",
            ["mini.yaml", "grid[0].methods", "randm-10", "random-10"],
        ),
        (
            "configs/studies/mini.yaml",
            "mini-word,",
            "mini-wrod,",
            ["mini.yaml", "benchmarks", "mini-wrod", "mini-word"],
        ),
        ("configs/studies/mini.yaml", "samples: 8", "samples: 3", ["evaluation.samples", "3", "n < k"]),
        ("configs/studies/mini.yaml", "samples: 8", "smaples: 8", ["evaluation", "smaples", "samples"]),
        ("configs/methods/ict-10.yaml", "percent: 10", "percent: 120", ["ict-10.yaml", "percent", "120", "<= 100"]),
        ("configs/methods/ict-10.yaml", "percent: 10", "percent: 0", ["ict-10.yaml", "percent", "0", "> 0"]),
    ],
)
def test_bad_input_is_one_clear_error_before_any_job(fresh, file, old, new, expected):
    path = fresh.folder / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    result = fresh.snakemake()
    assert result.returncode != 0
    assert "Traceback" not in result.stdout
    assert [word for word in expected if word not in result.stdout] == []
    assert not (fresh.folder / "results").exists()


def test_values_on_the_command_line_are_refused(fresh):
    result = fresh.snakemake("--dry-run", "--config", "study=other")
    assert result.returncode != 0
    assert "--config is not supported" in result.stdout


@pytest.mark.slow
def test_every_output_is_there_and_a_second_run_does_nothing(finished):
    results = finished.folder / "results/smoke"
    for name in ("main.md", "main.csv", "main.tex", "contrasts.md", "thresholds.md", "statuses.md"):
        assert (results / "tables" / name).stat().st_size > 0
    for name in ("reward", "entropy", "pass_at_k"):
        assert (results / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (results / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    scores = pd.read_parquet(results / "scores.parquet")
    assert set(scores["variant"]) == {"base", "grpo", "entropy-20", "ict-10"}
    assert (scores["sampled"] == 4).all()
    assert finished.planned(*SMOKE) == []


@pytest.mark.slow
def test_a_selector_retrains_its_own_cells_only(finished):
    finished.append("ict_core/selection/ict.py")
    jobs = finished.planned(*SMOKE)
    restore(finished, "ict_core/selection/ict.py")
    trained = [(variant, reason) for rule, variant, reason in jobs if rule == "train"]
    assert [variant for variant, _ in trained] == ["ict-10"] * 2
    assert all("Params have changed" in reason or "params" in reason.lower() for _, reason in trained)
    assert {variant for rule, variant, _ in jobs if rule in ("generate", "grade")} == {"ict-10"}


@pytest.mark.slow
def test_a_figure_redraws_itself_only(finished):
    finished.append("ict_core/figures/entropy.py")
    jobs = finished.planned(*SMOKE)
    restore(finished, "ict_core/figures/entropy.py")
    assert sorted(rule for rule, _, _ in jobs) == ["all", "figure_entropy", "report"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        ("samples: 4", "samples: 5", {"generate", "grade"}),
        ("seconds: 5", "seconds: 6", {"train", "generate", "grade"}),
    ],
    ids=["more samples train nothing", "the verifier is part of the training"],
)
def test_a_setting_reruns_the_stages_that_read_it(finished, old, new, rules):
    study = finished.folder / "configs/studies/smoke.yaml"
    study.write_text(study.read_text().replace(old, new))
    jobs = finished.planned(*SMOKE)
    restore(finished, "configs/studies/smoke.yaml")
    assert {rule for rule, variant, _ in jobs if variant} == rules


@pytest.mark.slow
def test_a_cell_gives_the_same_bytes_again_and_another_seed_does_not(finished):
    cell = "results/smoke/mini-xs/ict-10/seed-0"
    files = [f"{cell}/{name}" for name in ("completions.parquet", "grades.parquet")]
    files += [f"{cell}/train/{name}" for name in ("model/model.safetensors", "log.parquet", "tokens.parquet")]
    before = {file: (finished.folder / file).read_bytes() for file in files}
    shutil.rmtree(finished.folder / cell)
    result = finished.snakemake(f"{cell}/grades.parquet", *SMOKE)
    assert result.returncode == 0, result.stdout[-5000:]
    assert [file for file in files if (finished.folder / file).read_bytes() != before[file]] == []
    other = finished.folder / cell.replace("seed-0", "seed-1")
    assert (other / "completions.parquet").read_bytes() != before[files[0]]
    assert (other / "train/model/model.safetensors").read_bytes() != before[f"{cell}/train/model/model.safetensors"]
