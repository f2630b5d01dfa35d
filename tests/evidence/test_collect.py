"""Collecting: the stages of a cell belong together, shared facts are written once, verdicts are counted."""

import subprocess
import sys

import pandas as pd
import pytest

from ict_core.config.study_file import Cell
from ict_core.errors import UserError
from ict_core.evidence.collect import check_chain, count_grades, merge_manifests, score_grades
from ict_core.evidence.frames import curve_means
from ict_core.store.records import GRADES, SCORES, STUDY_LEARNING_CURVE, read_frame, write_frame

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


@pytest.mark.parametrize(
    ("at", "key", "stage"),
    [(1, "base_sha256", "train"), (3, "model_sha256", "generate"), (5, "completions_sha256", "grade")],
)
def test_a_stage_of_another_run_is_named(at, key, stage):
    jobs = chain()
    check_chain(jobs)
    jobs[at][key] = "f" * 64
    with pytest.raises(UserError, match=f"tiny/grpo/seed-1: {stage}: its {key} is ffff"):
        check_chain(jobs)


def test_a_training_began_with_the_base_model_of_its_seed():
    jobs = [
        *(job("pretrain", "base", number, model_sha256=str(number) * 64) for number in range(2)),
        *(job("train", seed=seed, base_sha256=str(seed) * 64, model_sha256="m" * 64) for seed in range(2)),
    ]
    check_chain(jobs)
    jobs[3]["base_sha256"] = "0" * 64
    with pytest.raises(UserError, match="train: .*base_sha256 .*0000"):
        check_chain(jobs)


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


def grades(*rows) -> pd.DataFrame:
    """A frame of records.GRADES from (problem, sample, status, finish reason, tokens)."""
    made = [("b", problem, sample, status, "", reason, tokens) for problem, sample, status, reason, tokens in rows]
    return pd.DataFrame(made, columns=list(GRADES)).astype({"sample": "int64", "tokens": "int64"})


def test_one_row_a_problem_in_order_of_first_appearance(tmp_path):
    rows = [("q", 1, "wrong"), ("p", 0, "correct"), ("q", 0, "correct"), ("p", 1, "no_answer")]
    found = grades(*((problem, sample, status, "stop", 10 + sample) for problem, sample, status in rows))
    write_frame(score_grades(found, Cell("m", "v", 3)), tmp_path / "scores.parquet", SCORES)
    scores = read_frame(tmp_path / "scores.parquet", SCORES)[["problem", "seed", "n", "correct", "tokens"]]
    assert scores.to_numpy().tolist() == [["q", 3, 2, 1, 21], ["p", 3, 2, 1, 21]]
    assert score_grades(grades(), Cell("m", "v", 3)).empty


def test_ungraded_samples_do_not_count_in_n():
    statuses = ["correct", "wrong", "no_answer", "timeout", "memory", "error", "correct"]
    reasons = ["stop"] * 5 + ["length"] * 2
    found = grades(*(("p", i, *said, 10) for i, said in enumerate(zip(statuses, reasons, strict=True))))
    counts = {"sampled": 7, "n": 4, "correct": 2, "wrong": 1, "no_answer": 1, "timeout": 1, "memory": 1, "error": 1}
    counts |= {"benchmark": "b", "problem": "p", "truncated": 2, "tokens": 70}
    assert count_grades(found).to_dict("records") == [counts]
    with pytest.raises(UserError, match="problem p, sample 0, status maybe"):
        count_grades(found.replace({"status": {"correct": "maybe"}}))


def test_a_point_of_a_learning_curve_is_the_mean_over_runs_of_their_graded_answers():
    statuses = {1: ["correct", "wrong", "timeout"], 2: ["correct", "correct", "no_answer"]}  # by seed: 1/2 and 2/3
    rows = [
        ("m", "v", seed, "b", "p", step, sample, status if step else "wrong", 5)
        for seed, own in statuses.items()
        for step in (0, 8)
        for sample, status in enumerate(own)
    ]
    means = curve_means(pd.DataFrame(rows, columns=list(STUDY_LEARNING_CURVE)))
    assert means[["model", "variant", "step", "seeds"]].to_numpy().tolist() == [["m", "v", 0, 2], ["m", "v", 8, 2]]
    assert means["mean"].tolist() == pytest.approx([0, 7 / 12])
    half = 12.7062 * (1 / 12)  # t of one degree of freedom; the standard error of two values 1/6 apart
    assert means[["low", "high"]].iloc[1].tolist() == pytest.approx([7 / 12 - half, 7 / 12 + half], abs=1e-4)


@pytest.mark.slow
def test_the_evidence_is_read_without_a_grader():
    code = "import sys, ict_core.evidence.stored; print(*(m for m in sys.modules if m.startswith('ict_core.grading')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
