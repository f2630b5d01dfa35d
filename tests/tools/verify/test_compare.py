"""What a rerun is compared by, on made-up cells: equal bytes, and the size of every kind of difference."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file

from ict_core.config.study_file import Cell
from ict_core.store import records
from ict_core.tools.place import Place
from ict_core.tools.verify.compare import compare_stage

CELL = Cell("m", "grpo", 0)
PROBLEMS = [("easy", "a"), ("easy", "b"), ("hard", "c")]


def log_frame() -> pd.DataFrame:
    frame = pd.DataFrame({"step": [0, 1, 2], "selecting": True, "tokens": 10})
    for place, name in enumerate(name for name, kind in records.LOG.items() if kind == "float"):
        frame[name] = [float("nan") if name == "kl" else 0.1 * place + step for step in range(3)]
    return frame


def token_frame() -> pd.DataFrame:
    rows = [(step, 0, rollout, position) for step in range(3) for rollout in range(2) for position in range(4)]
    frame = pd.DataFrame(rows, columns=["step", "group", "rollout", "position"]).assign(token=7, kept=True)
    return frame.assign(**{name: 0.25 for name, kind in records.TOKENS.items() if kind == "float"})


def completion_frame() -> pd.DataFrame:
    rows = [(*problem, sample) for problem in PROBLEMS for sample in range(4)]
    frame = pd.DataFrame(rows, columns=["benchmark", "problem", "sample"])
    return frame.assign(seed=1, text="4", tokens=3, finish_reason="stop", logprob=-1.0)


def grade_frame() -> pd.DataFrame:
    frame = completion_frame()[["benchmark", "problem", "sample", "finish_reason", "tokens"]]
    return frame.assign(status=["correct"] * 6 + ["wrong"] * 6, extracted="4")


def made(folder: Path) -> Place:
    place = Place(folder, CELL)
    place.checkpoint.mkdir(parents=True)
    save_file({"head": torch.zeros(3), "body": torch.ones(2, 2)}, place.checkpoint / "model.safetensors")
    (place.checkpoint / "config.json").write_text("{}")
    records.write_frame(log_frame(), place.trained / "log.parquet", records.LOG)
    records.write_frame(token_frame(), place.trained / "tokens.parquet", records.TOKENS)
    records.write_frame(completion_frame(), place.files.completions, records.COMPLETIONS)
    records.write_frame(grade_frame(), place.files.grades, records.GRADES)
    return place


@pytest.fixture
def both(tmp_path) -> tuple[Place, Place]:
    return made(tmp_path / "stored"), made(tmp_path / "again")


def rows_of(both: tuple[Place, Place], *stages: str, steps: int | None = None) -> dict[str, tuple[bool, str]]:
    found = [row for stage in stages for row in compare_stage(stage, *both, steps)]
    return {row.what: (row.equal, row.difference) for row in found}


def test_equal_runs_are_equal_in_everything(both):
    rows = rows_of(both, "train", "generate", "grade")
    assert set(rows.values()) == {(True, "")}
    names = ["weights", "configuration and tokenizer", "log.parquet", "tokens.parquet", "completions", "grades"]
    assert list(rows) == [*names, "scores", "pass@1, average", "pass@4, average"]


def test_weights_differ_by_their_largest_difference(both):
    save_file({"head": torch.tensor([0, 0, -0.5]), "body": torch.ones(2, 2)}, both[1].checkpoint / "model.safetensors")
    assert rows_of(both, "train")["weights"] == (False, "a weight differs by 0.5 at most (head)")
    for other, told in (
        ({"head": torch.zeros(3) / 0, "body": torch.ones(2, 2) + 7}, "a weight differs by nan at most (head)"),
        ({"head": torch.zeros(3), "body": torch.ones(1, 2)}, "other tensors"),
    ):
        save_file(other, both[1].checkpoint / "model.safetensors")
        assert rows_of(both, "train")["weights"] == (False, told)


def test_a_log_differs_from_a_step_on_by_so_much(both):
    frame = log_frame()
    frame.loc[2, "reward"] += 0.125
    records.write_frame(frame, both[1].trained / "log.parquet", records.LOG)
    equal, difference = rows_of(both, "train")["log.parquet"]
    assert (equal, difference) == (False, "33.3 % of the rows, first step 2: reward by 0.125 at most")
    frame.loc[2, "reward"] = float("nan")
    records.write_frame(frame, both[1].trained / "log.parquet", records.LOG)
    assert rows_of(both, "train")["log.parquet"][1].endswith("first step 2: reward by nan at most")
    # rows that a short training does not have are no difference
    records.write_frame(log_frame()[:2], both[1].trained / "log.parquet", records.LOG)
    records.write_frame(token_frame()[:16], both[1].trained / "tokens.parquet", records.TOKENS)
    rows = rows_of(both, "train", steps=2)
    assert list(rows) == ["log.parquet, steps 0 to 1", "tokens.parquet, steps 0 to 1"]
    assert set(rows.values()) == {(True, "")}
    assert not rows_of(both, "train", steps=3)["log.parquet, steps 0 to 2"][0]


def test_tokens_differ_in_rollouts_or_in_entropies_alone(both):
    file = both[1].trained / "tokens.parquet"
    records.write_frame(token_frame().assign(h1=0.25 + np.arange(24) / 256), file, records.TOKENS)
    told = rows_of(both, "train")["tokens.parquet"]
    first = "first step 0, group 0, rollout 0, position"
    assert told == (False, f"95.8 % of the rows, {first} 1: h1 by 0.0898 at most")  # 23 of 24; 23 / 256
    frame = token_frame()
    frame.loc[5, "token"] = 8
    records.write_frame(frame, file, records.TOKENS)
    assert rows_of(both, "train")["tokens.parquet"] == (
        False,
        "4.2 % of the rows, first step 0, group 0, rollout 1, position 1: token",
    )


def test_verdicts_move_the_scores(both):
    grades = grade_frame()
    grades.loc[8, "status"] = "correct"  # the first of four answers to the one hard problem
    records.write_frame(grades, both[1].files.grades, records.GRADES)
    rows = rows_of(both, "grade")
    assert rows["grades"] == (False, "8.3 % of the rows, first benchmark hard, problem c, sample 0: status")
    assert not rows["scores"][0]
    # hard: 0 -> 1/4 of its answers, 0 -> 1 of its problems by pass@4; the average is over two benchmarks
    assert rows["pass@1, average"] == (False, "+12.50 points")
    assert rows["pass@4, average"] == (False, "+50.00 points")
