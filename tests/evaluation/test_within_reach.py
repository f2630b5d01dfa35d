"""Which training problems lie within a base model's reach: those answered right at times, and not always."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from ict_core.config.load import load_study
from ict_core.config.study_file import Cell, WithinReach
from ict_core.errors import UserError
from ict_core.stages import within_reach as stage
from ict_core.store import records
from ict_core.store.layout import REPOSITORY, StudyFiles

BASE = Cell("smollm2-135m-gsm8k", "base", 0)
STUDY = load_study(REPOSITORY / "configs/studies/smollm2.yaml")
RIGHT = {"a": 0, "b": 1, "c": 3, "d": 4, "e": 2}  # of 4 answers


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """Runs the stage on five problems, answered right as often as RIGHT says: what was asked, and what is chosen."""
    names = list(RIGHT)
    problems = pd.DataFrame({"benchmark": "made-up", "problem": names, "question": names, "options": "[]"})
    problems = problems.assign(prompt=[f"{name}?" for name in names], answer="7", answer_type="number")
    records.write_frame(problems, tmp_path / "train.parquet", records.PROBLEMS)
    seen = {}

    def answers(checkpoint, model, evaluation, asked, seed, cache):
        seen.update(evaluation=evaluation, problems=asked, seed=seed, model=model)
        rows = [
            (benchmark, problem, sample, 0, f"\\boxed{{{7 if sample < RIGHT[problem] else 8}}}", 3, "stop", -1.0, "1 2")
            for benchmark, problem in asked[["benchmark", "problem"]].itertuples(index=False)
            for sample in range(evaluation.samples_for(benchmark))
        ]
        return pd.DataFrame(rows, columns=[*records.SAMPLED]), {"engine": "none", "engine_version": "1"}

    monkeypatch.setattr("ict_core.evaluation.answers.answers", answers)

    def grade(sampled, problems, **limits):
        return sampled.assign(status=sampled["text"].map({r"\boxed{7}": "correct", r"\boxed{8}": "wrong"}))

    def run(prompts_per_step: int = 2, really: bool = False, **rule: int) -> tuple[dict, list[str]]:
        if not really:
            monkeypatch.setattr("ict_core.grading.grade.grade_completions", grade)
        changed = {
            "data": STUDY.data.changed(within_reach=WithinReach(samples=4, **rule)),
            "training": STUDY.training.changed(prompts_per_step=prompts_per_step, micro_batch_sequences=8),
        }
        study = replace(STUDY, **changed)
        out = tmp_path / "within_reach.parquet"
        monkeypatch.setattr(stage, "study_of_model", lambda *_: study)
        stage.run(Path("a.yaml"), BASE.model, tmp_path, tmp_path / "train.parquet", tmp_path, out)
        return seen, records.read_frame(out, records.PROBLEMS)["problem"].tolist()

    return run


def test_problems_are_kept_that_are_right_at_times_and_not_always(asked):
    seen, chosen = asked(really=True)
    assert chosen == ["b", "c", "e"]
    assert (seen["model"], seen["seed"]) == (STUDY.models[BASE.model], 0)
    sampling, training = seen["evaluation"], STUDY.training
    assert (sampling.temperature, sampling.max_new_tokens) == (training.temperature, training.max_new_tokens)
    assert list(seen["problems"]["prompt"]) == [f"{name}?" for name in RIGHT]


def test_some_of_the_problems_are_drawn_by_the_studys_seed(asked):
    first, again = (asked(1, problems=4)[0]["problems"]["problem"].tolist() for _ in range(2))
    assert first == again == sorted(first) and len(first) == 4


def test_fewer_than_a_step_has_prompts_are_refused(asked):
    with pytest.raises(UserError, match=r"data.within_reach: 3 of 5 .* allowed: at least 4,"):
        asked(4)


def test_a_training_reads_the_problems_within_its_base_models_reach():
    files, cell = StudyFiles(REPOSITORY / "results/smollm2"), Cell(BASE.model, "grpo", 1)
    assert STUDY.training_problems(files, cell) == files.within_reach(BASE.model, 0)
    mini = load_study(REPOSITORY / "configs/studies/mini.yaml")
    assert mini.training_problems(files, Cell("mini-s", "grpo", 1)) == files.train_problems
    assert STUDY.resolve(cell)["data"]["within_reach"] == {"samples": 4, "problems": 400}
    assert "within_reach" not in mini.resolve(Cell("mini-s", "grpo", 1))["data"]
