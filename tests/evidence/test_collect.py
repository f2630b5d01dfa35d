"""Collecting: the stages of a cell belong together, and shared facts stand once."""

import pytest

from ict_core.errors import UserError
from ict_core.evidence._collect import check_chain, merge_manifests

FACTS = {
    "config": {"large": 1},
    "packages": {"torch": "2"},
    "python": "3",
    "platform": {"cpu": "x"},
    "process": {"torch_threads": 1},
    "source": {"commit": "c", "dirty": False, "sha256": "s", "loaded": {"a.py": "1"}},
}


def job(stage, variant="grpo", seed=1, **facts):
    return {"model": "tiny", "variant": variant, "seed": seed, "stage": stage, **FACTS, **facts}


def chain():
    return [
        job("pretrain", "base", 0, model_sha256="b" * 64),
        job("train", base_sha256="b" * 64, model_sha256="m" * 64, trl={"beta": 0.1, "seed": 5}),
        job("generate", "base", 0, model_sha256="b" * 64, completions_sha256="1" * 64, engine_settings={"dtype": "f"}),
        job("generate", model_sha256="m" * 64, completions_sha256="2" * 64, engine_settings=None),
        job("grade", "base", 0, completions_sha256="1" * 64),
        job("grade", completions_sha256="2" * 64, process={"torch_threads": None}),
    ]


def test_stages_that_belong_together_pass():
    check_chain(chain())


@pytest.mark.parametrize(
    ("at", "key", "stage"),
    [(1, "base_sha256", "train"), (3, "model_sha256", "generate"), (5, "completions_sha256", "grade")],
)
def test_a_stage_of_another_run_is_named(at, key, stage):
    jobs = chain()
    jobs[at][key] = "f" * 64
    with pytest.raises(UserError, match=f"tiny/grpo/seed-1: {stage}: its {key} is ffff"):
        check_chain(jobs)


def test_a_training_began_with_the_base_model_of_its_seed():
    jobs = [
        *(job("pretrain", "base", number, model_sha256=str(number) * 64) for number in range(2)),
        *(job("train", seed=seed, base_sha256=str(seed // 2) * 64, model_sha256="m" * 64) for seed in range(4)),
    ]
    check_chain(jobs, seeds_per_base=2)
    jobs[4]["base_sha256"] = "0" * 64  # seed 2
    with pytest.raises(UserError, match="tiny/grpo/seed-2: train: its base_sha256 is 0000"):
        check_chain(jobs, seeds_per_base=2)


def test_what_jobs_share_stands_once():
    merged = merge_manifests(chain())
    assert merged["environments"] == [{"packages": {"torch": "2"}, "python": "3", "platform": {"cpu": "x"}}]
    assert merged["processes"] == [{"torch_threads": 1}, {"torch_threads": None}]
    assert merged["sources"] == [{"commit": "c", "dirty": False, "sha256": "s"}]
    assert (merged["loaded"], merged["trl"], merged["engines"]) == ([{"a.py": "1"}], [{"beta": 0.1}], [{"dtype": "f"}])
    train = merged["jobs"][1]
    assert (train["trl"], train["trl_seed"], train["process"], train["loaded"]) == (0, 5, 0, 0)
    assert "config" not in train
    assert [("engine_settings" in j) for j in merged["jobs"]] == [False, False, True, False, False, False]
