"""`ict plan`: its sections, what it says is measured, bad input, and that its jobs are Snakemake's."""

import dataclasses
import shutil
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from ict_core.commands.cli import main
from ict_core.config import load_study
from ict_core.errors import UserError
from ict_core.tools.plan import plan_page, rule_runs, study_costs
from ict_core.tools.plan._page import parse

REPOSITORY = Path(__file__).resolve().parents[3]
PAPER, MINI = (str(REPOSITORY / f"configs/studies/{name}.yaml") for name in ("paper", "mini"))
SECTIONS = [
    "# Plan of the study paper",
    "## Cells",
    "## Jobs by stage, and what would run now",
    "## Hours",
    "### Hours of one training by part (estimated)",
    "## Shortest wall time",
    "## Memory of one GPU in a training, GB (estimated)",
    "## Disk, GB",
    "## Assumptions (configs/plan.yaml)",
]


def page(capsys, *arguments: str) -> str:
    assert main(["plan", *arguments]) == 0
    return capsys.readouterr().out


def refused(capsys, *arguments: str) -> str:
    assert main(["plan", *arguments]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    return printed.err


def test_the_page_has_its_sections_and_every_assumption(capsys, plan, tmp_path):
    text = page(capsys, PAPER, "--no-dag", "--results", str(tmp_path))
    assert [line for line in text.splitlines() if line.startswith("#")] == SECTIONS
    assert [name for name in plan.assumptions.model_dump() if f"| {name} " not in text] == []
    assert "measured" not in text.split("## Assumptions")[0]
    assert "Not asked (--no-dag)." in text
    assert text == page(capsys, PAPER, "--no-dag", "--results", str(tmp_path))


def test_a_calibrated_page_says_what_was_measured_and_counts_cpu_hours(capsys):
    stored = REPOSITORY / "results/reference/mini"
    text = page(capsys, MINI, "--no-dag", "--results", str(stored))
    took = pd.read_parquet(stored / "compute.parquet").query("stage == 'train' and tokens > 0")  # else taken over
    (train,) = [line for line in text.splitlines() if line.startswith("| train    | mini-s")]
    assert [cell.strip() for cell in train.split("|")[3:6]] == [f"measured ({len(took)})", "90", "1 CPU"]
    assert "Shortest wall time" not in text
    assert "a100" not in text


@pytest.mark.parametrize(
    ("gpu_gb", "share", "small", "large"),
    [(80.0, 0.4, "yes", "yes"), (40.0, 0.4, "yes", "NO"), (80.0, 0.1, "yes", "NO: vLLM needs 4 GPUs")],
)
def test_a_model_that_does_not_fit_is_told(plan, paper, tmp_path, gpu_gb, share, small, large):
    gpu = plan.gpus["h100"].model_copy(update={"memory_gb": gpu_gb})
    rollouts = paper.training.rollouts.model_copy(update={"memory_share": share})
    study = dataclasses.replace(paper, training=paper.training.model_copy(update={"rollouts": rollouts}))
    text = plan_page(study, plan.model_copy(update={"gpus": {"h100": gpu}}), "h100", tmp_path, {}, None)
    memory = text.split("## Memory")[1].split("##")[0].splitlines()
    fits = {line.split("|")[1].strip(): line.split("|")[-2].strip() for line in memory if "qwen" in line}
    assert (fits["qwen2.5-0.5b"], fits["qwen2.5-7b"]) == (small, large)


def test_bad_input_is_one_clear_error(capsys, tmp_path):
    assert "gpus: 'b200' is unknown; did you mean 'h200'?" in refused(capsys, PAPER, "--no-dag", "--gpu", "b200")
    assert "papr.yaml: no such file; did you mean 'paper'?" in refused(capsys, PAPER.replace("paper", "papr"))
    assert "none: no such folder" in refused(capsys, PAPER, "--no-dag", "--results", str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("gpu: a100-80gb", "gpu: a100", "plan.yaml: gpu: 'a100' is unknown; did you mean 'h100' or 'a100-80gb'?"),
        ("value: 0.35", "value: 1.35", "plan.yaml: assumptions.mfu.value: 1.35 is not allowed"),
        ("  mfu:", "  mfo:", "plan.yaml: assumptions.mfu: missing"),
    ],
)
def test_a_spoilt_plan_file_is_named(capsys, tmp_path, old, new, expected):
    configs = tmp_path / "configs"
    shutil.copytree(REPOSITORY / "configs", configs)
    text = (configs / "plan.yaml").read_text()
    assert old in text
    (configs / "plan.yaml").write_text(text.replace(old, new, 1))
    assert main(["plan", str(configs / "studies/paper.yaml"), "--no-dag"]) == 2
    assert expected in capsys.readouterr().err


def test_a_study_outside_of_a_repository_asks_for_no_dag(capsys, tmp_path):
    shutil.copytree(REPOSITORY / "configs", tmp_path / "configs")
    assert "or give --no-dag" in refused(capsys, str(tmp_path / "configs/studies/paper.yaml"))


def test_reasons_are_told_without_the_files_they_name():
    printed = (
        "Building DAG of jobs...\n[date]\nrule figure_reward:\n    output: a\n"
        "    reason: Missing output files: a, b; Input files updated by another job: c\n"
        "[date]\nlocalrule all:\n    jobid: 0\n    reason: Code has changed since last execution\n"
        "[date]\nrule train:\n    reason: Params have changed since last execution: before: 'a; b: c' now: 'd'\n"
        "    wildcards: seed=0\nJob stats:\n"
    )
    assert parse(printed) == [
        ("figures", ["Missing output files", "Input files updated by another job"]),
        ("all", ["Code has changed since last execution"]),
        ("train", ["Params have changed since last execution"]),
    ]


def test_a_failing_dry_run_is_told_in_its_own_words(tmp_path):
    (tmp_path / "Snakefile").write_text("raise WorkflowError('spoilt on purpose')\n")
    with pytest.raises(UserError, match="the dry run fails: .*spoilt on purpose"):
        rule_runs(Path(PAPER), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("study", [PAPER, MINI])
def test_the_plan_counts_the_jobs_that_snakemake_would_run(plan, study):
    rules = rule_runs(Path(study), REPOSITORY)
    planned = Counter()
    for cost in study_costs(load_study(Path(study)), plan, plan.gpu, {}):
        planned[cost.stage] += cost.jobs
    for stage in ("train", "generate", "grade"):
        assert rules[stage].jobs == planned[stage] > 0
    assert sum(rule.jobs for rule in rules.values()) > planned.total()


def test_the_trainings_that_choose_rates_are_counted(capsys):
    text = page(capsys, MINI, "--no-dag")
    assert "Of the trainings 30 choose learning rates (3 rates and 2 seeds for each method), and 30 are at" in text
    assert "| total   |         90 |            66 |" in text
    assert "choose learning rates" not in page(capsys, PAPER, "--no-dag")
