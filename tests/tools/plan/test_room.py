"""Memory, disk and wall time."""

import dataclasses

import pandas as pd
import pytest

from ict_core.store import records
from ict_core.tools.plan import Cost, step_work, study_costs, study_disk, training_memory
from ict_core.tools.plan._costs import wall_hours
from ict_core.tools.plan._room import bytes_a_row


def memory(study, plan, model, **changes):
    changed = study.training_of(model).model_copy(update=changes)
    return training_memory(
        study.models[model], changed, step_work(study, model, plan.assumptions), 80e9, plan.assumptions
    )


def test_the_state_is_sixteen_bytes_a_parameter_shared_by_the_shards(paper, plan):
    assert memory(paper, plan, "qwen2.5-0.5b").state == 16 * 494_032_768
    assert memory(paper, plan, "qwen2.5-7b").state == 16 * 7_615_616_512 / 4
    assert memory(paper, plan, "qwen2.5-7b").reference == 4 * 7_615_616_512 / 4


def test_a_paper_model_fits_a_gpu_of_80_gb(paper, plan):
    assert all(memory(paper, plan, model).peak < 80e9 for model in paper.models)


def test_statistics_and_activations_by_hand(paper, plan):
    held = memory(paper, plan, "qwen2.5-0.5b")
    tokens = 16 * 1024 + 2 * 300  # two groups
    assert held.statistics == pytest.approx(2**27 * 4 * (1 + 2 * 16_384 / 151_936) + tokens * 896 * 2)
    assert held.activations == tokens * 896 * (24 * 2 + 34)
    sharded = memory(paper, plan, "qwen2.5-7b")
    of_a_group = (8 * 1024 + 300) * 3584 * 2
    head = 152_064 * 3584 * 4
    assert sharded.statistics == pytest.approx(2**27 * 4 * (1 + 2 * 16_384 / 152_064) + of_a_group + head)
    assert sharded.activations == (4 * 1024 + 300) * 3584 * (28 * 2 + 34)  # half a group
    assert memory(paper, plan, "qwen2.5-0.5b", passes="dense").activations == 16 * 1324 * 896 * (24 * 2 + 34)
    assert held.logits == 16 * 1024 * 151_936 * 4


def test_what_the_recipe_does_without_takes_no_memory(paper, plan):
    lora = memory(paper, plan, "qwen2.5-0.5b", lora=object())
    assert (lora.state, lora.reference) == (4 * 494_032_768, 0)
    assert memory(paper, plan, "qwen2.5-0.5b", kl_coef=0.0).reference == 0
    awake = paper.training.rollouts.model_copy(update={"sleep": False})
    assert memory(paper, plan, "qwen2.5-0.5b", rollouts=awake).peak > memory(paper, plan, "qwen2.5-0.5b").peak


def test_checkpoints_have_the_models_dtype(paper, mini, plan, tmp_path):
    stored = {(s.what, s.model): s for s in study_disk(paper, plan.assumptions, tmp_path, {})}
    trained = stored["trained checkpoints", "qwen2.5-7b"]
    assert (trained.files, trained.bytes_each) == (25, 2 * 7_615_616_512)
    passing = stored["float32 weights of a training that ends", "qwen2.5-7b"]
    assert (passing.kept, passing.files, passing.bytes_each) == (False, 1, 4 * 7_615_616_512)
    under_way = stored["checkpoints of a training under way", "qwen2.5-7b"]
    assert (under_way.kept, under_way.files, under_way.bytes_each) == (False, 3, 12 * 7_615_616_512)
    own = {(s.what, s.model): s for s in study_disk(mini, plan.assumptions, tmp_path, {})}
    assert ("float32 weights of a training that ends", "mini-s") not in own
    assert own["base checkpoint", "mini-s"].bytes_each % 4 == 0


def test_bytes_of_an_answer_come_from_finished_cells(sizes, plan, tmp_path):
    assert bytes_a_row(tmp_path, "mini-s", "grades") is None
    path = tmp_path / "mini-s/grpo/seed-0/grades.parquet"
    values = {name: "x" if kind == "str" else 1 for name, kind in records.GRADES.items()}
    records.write_frame(pd.DataFrame([values] * 10), path, records.GRADES)
    assert bytes_a_row(tmp_path, "mini-s", "grades") == path.stat().st_size / 10
    grades = [s for s in study_disk(sizes, plan.assumptions, tmp_path, {}) if s.what == "grades"]
    assert [(s.model, s.measured) for s in grades] == [("mini-s", True), ("mini-m", False)]


def test_wall_time_is_the_total_spread_or_the_longest_chain():
    train = Cost("train", "m", 10, 1.0, 3600.0, 4, "GPU")
    costs = [train, Cost("generate", "m", 11, 1.0, 1800.0, 1, "GPU"), Cost("grade", "m", 11, 1.0, 1e9, 1, "CPU")]
    assert wall_hours(costs, 2) is None  # a training takes four
    assert wall_hours(costs, 4) == pytest.approx((40 + 5.5) / 4)
    assert wall_hours(costs, 512) == pytest.approx(1.5)


def test_more_gpus_never_take_longer(paper, plan):
    costs = study_costs(paper, plan, "a100-80gb", {})
    walls = [wall_hours(costs, gpus) for gpus in (4, 8, 64, 512)]
    assert walls == sorted(walls, reverse=True)
    half = [dataclasses.replace(cost, jobs=cost.jobs // 2) for cost in costs]
    assert wall_hours(half, 8) < wall_hours(costs, 8)
