"""`ict plan`: its jobs are Snakemake's, its seconds those of finished jobs, its wall time a bound."""

import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from ict_core.config.load import load_study
from ict_core.errors import UserError
from ict_core.store import records
from ict_core.store.manifests import write_manifest
from ict_core.tools.plan import Kind, checkpoint_bytes, finished_seconds, plan_page, planned_jobs

REPOSITORY = Path(__file__).resolve().parents[2]
STUDIES, REFERENCE = REPOSITORY / "configs/studies", REPOSITORY / "results/reference/mini"


@pytest.fixture(scope="module")
def mini():
    return load_study(STUDIES / "mini.yaml")


def cells_of(page: str, rule: str, model: str | None = None) -> list[str]:
    """The cells of the table's row of a rule, and of a model where several have that rule."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    (row,) = [row for row in rows if row[0] == rule and model in (None, row[1])]
    return row[1:]


@pytest.mark.slow
def test_the_jobs_are_those_that_snakemake_would_run(tmp_path):
    shutil.copytree(REPOSITORY / "configs", tmp_path / "configs")
    file = tmp_path / "configs/studies/never-run.yaml"  # of this name no job has run, whatever has in the repository
    file.write_text((STUDIES / "smoke.yaml").read_text().replace("study: smoke", "study: never-run"))
    study = load_study(file)
    jobs = planned_jobs(file, REPOSITORY, 1)
    counted = Counter()
    for kind, number in jobs.items():
        counted[kind.rule, kind.model] += number
    for model in study.models:
        trained, evaluated, bases = (
            sum(cell.model == model for cell in cells)
            for cells in (study.trained_cells(), study.evaluated_cells(), study.all_bases())
        )
        assert counted["train", model] == trained
        assert counted["generate", model] == counted["grade", model] == evaluated
        assert counted["pretrain", model] == bases
    assert {kind.threads for kind in jobs} == {1} and counted["figures", ""] > 10


def printing(folder: Path, text: str, status: int = 0) -> str:
    """A program in place of Python, and so of Snakemake."""
    fake = folder / "python"
    fake.write_text(f"#!/bin/sh\ncat <<'END'\n{text}END\nexit {status}\n")
    fake.chmod(0o700)
    return str(fake)


def test_a_dry_run_is_read_rule_by_rule(monkeypatch, tmp_path):
    """Of a block its rule, model and threads, however its reason is worded."""
    printed = (
        "Building DAG of jobs...\n[date]\nrule fetch_model:\n    wildcards: model=m\n"
        "[date]\nrule figure_reward:\n    output: a\n    reason: Missing output files: a, b\n"
        "[date]\nlocalrule all:\n    jobid: 0\n    reason: Code has changed\n[date]\nrule train:\n"
        "    reason: Params have changed since last execution: before: 'rule a: model=c' now: 'd'\n"
        "    wildcards: seed=0, model=m, variant=v\n    threads: 4\n"
        "[date]\nrule train:\n    wildcards: model=m, variant=v@0.0003, seed=9\n"
        "[date]\ncheckpoint tune_round:\n    output: c\n[date]\nrule figure_length:\n    output: b\nJob stats:\n"
    )
    monkeypatch.setattr("sys.executable", printing(tmp_path, printed))
    assert planned_jobs(STUDIES / "mini.yaml", tmp_path, 4) == {
        Kind("fetch", "m", 1): 1,
        Kind("figures", "", 1): 2,
        Kind("all", "", 1): 1,
        Kind("train", "m", 4): 1,
        Kind("train at a rate", "m", 1): 1,
        Kind("tune_round", "", 1): 1,
    }


def test_a_failing_dry_run_is_told_in_its_own_words(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.executable", printing(tmp_path, "WorkflowError:\nspoilt on purpose\n", 1))
    with pytest.raises(UserError, match="spoilt on purpose"):
        planned_jobs(STUDIES / "mini.yaml", tmp_path, 1)


@pytest.fixture
def unfinished(tmp_path):
    """A study of which two trainings, one of which is damaged, and a generation have finished."""
    cell = tmp_path / "mini-s/grpo"
    for seed, seconds in (0, 30.0), (1, 50.0), (2, 70.0):
        (cell / f"seed-{seed}/train").mkdir(parents=True)
        write_manifest(cell / f"seed-{seed}/train/manifest.json", {"stage": "train", "wall_seconds": seconds})
    (cell / "seed-2/train/manifest.json").write_text("{")
    write_manifest(cell / "seed-0/generation.json", {"stage": "generate", "wall_seconds": 4.0})
    base = tmp_path / "mini-s/base/seed-3/model"
    base.mkdir(parents=True)
    write_manifest(base / "manifest.json", {"stage": "pretrain", "wall_seconds": 9.0})
    return tmp_path


def test_seconds_are_those_of_finished_jobs(unfinished):
    one_each = {("pretrain", "mini-s"): [9.0], ("generate", "mini-s"): [4.0]}
    assert finished_seconds(unfinished) == {("train", "mini-s"): [30.0, 50.0], **one_each}
    assert finished_seconds(unfinished / "none") == {}
    for name, more in ("grpo@0.0003/seed-9", {}), ("stapo/seed-0", {"taken_over": "mini-s/grpo/seed-0"}):
        (unfinished / "mini-s" / name / "train").mkdir(parents=True)
        manifest = {"stage": "train", "wall_seconds": 7.0, **more}
        write_manifest(unfinished / "mini-s" / name / "train/manifest.json", manifest)
    shorter = {("train at a rate", "mini-s"): [7.0]}
    assert finished_seconds(unfinished) == {("train", "mini-s"): [30.0, 50.0], **shorter, **one_each}


def test_the_jobs_of_cells_stored_on_their_own_count_too(unfinished, tmp_path):
    record = {"cell": {"model": "mini-s"}, "jobs": {"made": {"stage": "train", "wall_seconds": 20.0}}}
    write_manifest(tmp_path / "cells/mini-s/grpo/seed-9/cell.json", record)
    damaged = tmp_path / "cells/mini-s/grpo/seed-8/cell.json"
    write_manifest(damaged, record)
    damaged.write_text(damaged.read_text().replace("20.0", "21.0"))
    assert finished_seconds(unfinished, tmp_path / "cells")["train", "mini-s"] == [30.0, 50.0, 20.0]


def test_of_a_stored_study_they_are_those_of_its_frame():
    seconds = finished_seconds(REFERENCE)
    frame = records.read_frame(REFERENCE / "compute.parquet", records.COMPUTE)
    assert sum(map(sum, seconds.values())) == pytest.approx(frame["seconds"].sum())
    trained = frame[(frame["stage"] == "train") & (frame["model"] == "mini-s")]
    assert len(seconds["train", "mini-s"]) == len(trained) > 0


JOBS = {
    Kind("pretrain", "mini-s", 1): 2,
    Kind("train", "mini-s", 2): 10,
    Kind("grade", "mini-s", 1): 10,
    Kind("all", "", 1): 1,
}
SECONDS = {("pretrain", "mini-s"): [3600.0], ("train", "mini-s"): [1800.0, 5400.0]}


@pytest.mark.parametrize(("cores", "hours"), [(2, 11), (4, 5.5), (100, 2)])
def test_the_least_wall_time_is_of_the_work_or_of_a_chain(mini, cores, hours):
    """2 h of one thread and 10 h of two threads; one after another a pretraining and a training take 2 h."""
    page = plan_page(mini, JOBS, SECONDS, REFERENCE, cores)
    assert f"at least {hours:.2f} hours" in page
    assert cells_of(page, "train") == ["mini-s", "10", "2", "3600.0", "2", "10.00"]
    assert cells_of(page, "grade") == ["mini-s", "10", "1", "", "", ""]
    assert cells_of(page, "total")[1] == "23" and "\n11 jobs have no time" in page


def test_trainings_that_later_rounds_may_ask_for_are_named(mini):
    tuned = load_study(REPOSITORY / "configs/studies/mini-again.yaml")
    assert tuned.later_in_words() and not mini.later_in_words()
    assert f"Not counted: {tuned.later_in_words()}.\n" in plan_page(tuned, JOBS, {}, REFERENCE, 1)
    assert "Not counted" not in plan_page(mini, JOBS, SECONDS, REFERENCE, 1)


def test_kept_rollouts_are_counted_for_every_training_that_is_to_run(mini):
    keeping = replace(mini, rollouts_mib=64)
    tokens = 48 * 32 * 8 * 80
    page = plan_page(keeping, JOBS, SECONDS, REFERENCE, 1)
    trainings = sum(number for kind, number in JOBS.items() if kind.rule == "train")
    (stated,) = re.findall(r"at most about ([\d.]+) GB", page)
    assert trainings * 16 * tokens < 1e9 * float(stated) < 1.5 * trainings * 16 * tokens
    assert "ollouts take" not in plan_page(mini, JOBS, SECONDS, REFERENCE, 1)


def test_a_checkpoint_has_float32_weights_and_two_moments_of_what_is_trained(mini):
    paper = load_study(STUDIES / "paper.yaml")
    assert checkpoint_bytes(paper, "qwen2.5-0.5b") == 12 * 494_032_768  # as the checkpoints on the hub have them
    large = paper.models["qwen2.5-7b"]
    assert large.hardware.accelerate == "fsdp2" and checkpoint_bytes(paper, "qwen2.5-7b") == 16 * 7_615_616_512
    whole = {"qwen2.5-7b": large.changed(hardware=large.hardware.changed(accelerate="ddp"))}
    assert checkpoint_bytes(replace(paper, models=whole), "qwen2.5-7b") == 12 * 7_615_616_512
    adapted = paper.training.changed(lora={"rank": 8, "alpha": 16})
    ends = 2 * (896 + 896) + 2 * (896 + 128) + 3 * (896 + 4864)  # of a layer's seven matrices
    assert checkpoint_bytes(replace(paper, training=adapted), "qwen2.5-0.5b") == 12 * 24 * 8 * ends
    none = paper.training.changed(checkpoint_every=None)
    assert checkpoint_bytes(replace(paper, training=none), "qwen2.5-0.5b") == checkpoint_bytes(mini, "mini-s") == 0


def test_jobs_without_a_time_are_bounded_by_the_limits_of_their_models(mini):
    paper = load_study(STUDIES / "paper.yaml")
    jobs = {Kind("train", "qwen2.5-0.5b", 1): 2, Kind("generate", "qwen2.5-7b", 1): 3, Kind("data", "", 1): 1}
    of = {name: paper.models[name].hardware for name in ("qwen2.5-0.5b", "qwen2.5-7b")}
    most = 2 * of["qwen2.5-0.5b"].train_hours + 3 * of["qwen2.5-7b"].generate_hours
    assert f"allow {most:,.0f} hours in all" in plan_page(paper, jobs, {}, REFERENCE, 1)
    timed = {("train", "qwen2.5-0.5b"): [1.0]}
    rest = 3 * of["qwen2.5-7b"].generate_hours
    assert f"allow {rest:,.0f} hours in all" in plan_page(paper, jobs, timed, REFERENCE, 1)
    assert "allow" not in plan_page(mini, JOBS, {}, REFERENCE, 1)


def test_the_first_study_on_a_gpu_is_planned_for_one_night():
    study = load_study(STUDIES / "gpu-first.yaml")
    trainings = len(study.trained_cells()) + len(study.tuned_arms()) * 2  # the better two of four rates, once more
    jobs = {Kind("train", "qwen2.5-0.5b", 2): trainings, Kind("generate", "qwen2.5-0.5b", 2): len(study.cells()) + 1}
    (hours,) = re.findall(r"allow ([\d,]+) hours in all", plan_page(study, jobs, {}, REFERENCE, 16))
    assert 8 <= int(hours) <= 12


def test_checkpoints_take_the_disk_of_what_runs_at_a_time_and_one_more_each(mini):
    paper = load_study(STUDIES / "paper.yaml")
    jobs = {Kind("train", "qwen2.5-0.5b", 8): 10, Kind("train", "qwen2.5-7b", 32): 1}
    small, large = 12 * 494_032_768 / 1e9, 16 * 7_615_616_512 / 1e9  # the large one is sharded
    page = plan_page(paper, jobs, {}, REFERENCE, 48)  # the large one, and two of the small ones beside it
    assert f"at most about {3 * large + 2 * 3 * small:,.0f} GB" in page
    assert f"{24 * (large + 10 * small):,.0f} GB of them" in page  # 234 steps, one every 10 and one at the end
    kept = replace(paper, training=paper.training.changed(checkpoints_kept=1))
    assert f"at most about {2 * 3 * 2 * small:,.0f} GB" in plan_page(
        kept, {Kind("train", "qwen2.5-0.5b", 8): 10}, {}, REFERENCE, 48
    )
    assert "checkpoints" not in plan_page(mini, JOBS, SECONDS, REFERENCE, 1).lower()
