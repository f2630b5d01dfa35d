"""What finished jobs took: from cells, from a collected study, and that the plan then says the same."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from ict_core.errors import UserError
from ict_core.store import records, write_manifest
from ict_core.tools.plan import measured_rates, study_costs

REFERENCE = Path(__file__).resolve().parents[3] / "results/reference/mini"


def test_the_calibrated_plan_of_mini_is_what_mini_took(mini, plan):
    took = records.read_frame(REFERENCE / "compute.parquet", records.COMPUTE)
    costs = [c for c in study_costs(mini, plan, "h100", measured_rates(REFERENCE)) if c.stage != "grade"]
    took = took[took["tokens"] > 0]  # else all its completions were reused, as STAPO's are where it masks nothing
    assert len(took) > 70
    for cost in costs:
        of = took[(took["stage"] == cost.stage) & (took["model"] == cost.model)]
        assert (cost.measured, cost.kind, cost.parts) == (len(of), "CPU", {})
        assert cost.jobs >= len(of)
        assert cost.seconds / cost.tokens == pytest.approx(of["seconds"].sum() / of["tokens"].sum())
        assert cost.tokens == pytest.approx(of["tokens"].mean(), rel=0.05)  # the reused are of another length


def test_twice_the_steps_of_a_measured_training_take_twice_as_long(mini, plan):
    rates = measured_rates(REFERENCE)
    longer = mini.training.model_copy(update={"steps": 2 * mini.training.steps})
    once, twice = (
        {(c.stage, c.model): c.seconds for c in study_costs(study, plan, "h100", rates)}
        for study in (mini, dataclasses.replace(mini, training=longer))
    )
    assert twice["train", "mini-s"] == pytest.approx(2 * once["train", "mini-s"])
    assert twice["generate", "mini-s"] == once["generate", "mini-s"]


def test_without_finished_jobs_all_is_an_estimate(mini, plan, tmp_path):
    assert measured_rates(tmp_path) == measured_rates(tmp_path / "none") == {}
    assert not any(cost.measured for cost in study_costs(mini, plan, "h100", {}))


@pytest.fixture
def cells(tmp_path):
    """A pretraining, a training of two steps and a generation of four answers have finished."""

    def manifest(path, **facts):
        path.parent.mkdir(parents=True)
        write_manifest(path, facts)

    pretraining = {"model": {"pretraining": {"steps": 5, "batch_sequences": 4}}}
    facts = {"stage": "pretrain", "tokens": 600, "wall_seconds": 6.0, "config": pretraining}
    manifest(tmp_path / "mini-s/base/seed-0/model/manifest.json", **facts)
    cell = tmp_path / "mini-s/grpo/seed-0"
    training = {"steps": 2, "prompts_per_step": 5, "group_size": 2}
    facts = {"stage": "train", "tokens": 300, "wall_seconds": 30.0, "config": {"training": training}}
    manifest(cell / "train/manifest.json", **facts)
    facts = {"stage": "generate", "tokens": 80, "wall_seconds": 4.0, "completions": 4, "completions_reused": 2}
    write_manifest(cell / "generation.json", facts)
    reused = cell.with_name("seed-1")
    reused.mkdir()
    facts = {"stage": "generate", "tokens": 0, "wall_seconds": 1.0, "completions": 0, "completions_reused": 6}
    write_manifest(reused / "generation.json", facts)
    return tmp_path


def test_finished_cells_of_an_unfinished_study_count(cells):
    rates = measured_rates(cells)
    assert {stage: (r.jobs, r.seconds_per_token, r.answer) for (stage, _), r in rates.items()} == {
        "pretrain": (1, 0.01, 30),
        "train": (1, 0.1, 15),  # of twenty rollouts
        "generate": (1, 0.05, 20),  # a job that only reused tells nothing of sampling
    }


def test_a_model_without_finished_jobs_stays_an_estimate(sizes, plan, cells):
    costs = {(c.stage, c.model): c for c in study_costs(sizes, plan, "h100", measured_rates(cells))}
    assert costs["train", "mini-s"].measured == 1
    assert costs["train", "mini-s"].seconds == pytest.approx(0.1 * 15 * 32 * 64)
    assert costs["train", "mini-m"].measured == 0


def test_of_a_collected_study_an_answer_is_as_long_as_the_evaluated_ones(tmp_path):
    """However many of a job's answers had been sampled before."""
    for name in ("scores.parquet", "study.json"):
        shutil.copy2(REFERENCE / name, tmp_path)
    compute = records.read_frame(REFERENCE / "compute.parquet", records.COMPUTE)
    compute.loc[compute.index[compute["stage"] == "generate"][::2], "tokens"] //= 3
    records.write_frame(compute, tmp_path / "compute.parquet", records.COMPUTE)
    whole, part = measured_rates(REFERENCE)["generate", "mini-s"], measured_rates(tmp_path)["generate", "mini-s"]
    assert part.answer == pytest.approx(whole.answer)
    assert part.seconds_per_token > whole.seconds_per_token


def test_spoilt_files_are_named(cells, tmp_path):
    (cells / "mini-s/grpo/seed-0/generation.json").write_text("{")
    with pytest.raises(UserError, match=r"generation\.json: not JSON"):
        measured_rates(cells)
    write_manifest(cells / "mini-s/grpo/seed-0/generation.json", {"stage": "generate", "tokens": 3})
    with pytest.raises(UserError, match=r"generation\.json: has no 'wall_seconds'"):
        measured_rates(cells)
    lone = tmp_path / "lone"
    lone.mkdir()
    shutil.copy2(REFERENCE / "compute.parquet", lone)
    with pytest.raises(UserError, match=r"scores\.parquet: no such file"):
        measured_rates(lone)
