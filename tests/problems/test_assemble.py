"""A study's problems put together from generated and published sets."""

from dataclasses import replace
from pathlib import Path

import pytest
from published_sets import SETS, stated, write_rows

from ict_core.config.load import load_study
from ict_core.errors import UserError
from ict_core.problems.assemble import study_problems
from ict_core.problems.mini.problems import evaluation_problems, training_problems
from ict_core.problems.published.readers import aime_25, gsm8k
from ict_core.store import records

MINI = load_study(Path(__file__).resolve().parents[2] / "configs/studies/mini.yaml")
GSM8K = [{"question": f"How many is {n}?", "answer": f"#### {n}"} for n in range(6)]
AIME = [{"id": str(n), "problem": f"Find {n}", "answer": f"{n:03d}"} for n in range(4)]


def test_a_generated_study_has_the_generators_own_frames():
    train, held_out = study_problems(MINI, None)
    sets = {name: (benchmark.family, benchmark.problems) for name, benchmark in MINI.benchmarks.items()}
    assert held_out.equals(evaluation_problems(0, sets))
    assert train.equals(training_problems(0, 2000, set(held_out["prompt"])))


@pytest.fixture
def mixed(tmp_path):
    """A study of one generated and one published benchmark that trains on two published sets."""
    write_rows(tmp_path, "openai/gsm8k/main/train", GSM8K)
    write_rows(tmp_path, "math-ai/aime25/default/test", AIME)
    aime = stated("aime-25", [aime_25.read(row) for row in AIME])
    sets = {"gsm8k-train": stated("gsm8k-train", [gsm8k.read(row) for row in GSM8K]), "aime-25": aime}
    benchmarks = {"aime-25": aime, "mini-stem": MINI.benchmarks["mini-stem"]}
    data = MINI.data.model_copy(update={"train_problems": None})
    return replace(MINI, benchmarks=benchmarks, train_sets=sets, data=data)


def test_a_mixed_study_fits_the_schema(mixed, tmp_path):
    train, held_out = study_problems(mixed, tmp_path)
    for name, frame in {"train": train, "eval": held_out}.items():
        records.write_frame(frame, tmp_path / f"{name}.parquet", records.PROBLEMS)
    assert dict(held_out["benchmark"].value_counts()) == {"mini-stem": 40, "aime-25": 4}
    assert dict(train["benchmark"].value_counts()) == {"gsm8k-train": 6, "aime-25": 4}


@pytest.mark.slow
def test_fewer_training_problems_are_drawn_by_the_seed(mixed, tmp_path):
    def drawn(seed: int) -> list[str]:
        data = mixed.data.model_copy(update={"train_problems": 5, "seed": seed})
        return list(study_problems(replace(mixed, data=data), tmp_path)[0]["prompt"])

    assert len(drawn(0)) == 5 and drawn(0) == drawn(0)
    assert len({tuple(drawn(seed)) for seed in range(4)}) > 1


def test_a_missing_token_is_told_before_any_set_is_read(mixed, monkeypatch):
    monkeypatch.setattr("ict_core.problems.published.load.get_token", lambda: None)
    monkeypatch.setattr("datasets.load_dataset", lambda *_, **__: pytest.fail("something was downloaded"))
    gated = replace(mixed, train_sets={**mixed.train_sets, "gpqa": SETS["gpqa"]})
    with pytest.raises(UserError, match="gated .*HF_TOKEN"):
        study_problems(gated, None)
