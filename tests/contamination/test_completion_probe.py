"""The completion probe: its cuts and scores by hand, a model that knows every question, a model that knows none."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from published_sets import SETS

from ict_core.commands.cli import main
from ict_core.config import load_study
from ict_core.contamination import completion_probe, templates
from ict_core.contamination._completion_probe import PERCENTS, common_subsequence, rouge_l, split
from ict_core.errors import UserError
from ict_core.evaluation import load_engine, stop_token_ids
from ict_core.evaluation._engine import Completion
from ict_core.problems.mini import TEMPLATE, evaluation_problems
from ict_core.store import records

STUDIES = Path(__file__).resolve().parents[2] / "configs/studies"
PROBLEMS = evaluation_problems(0, {"mini-word": ("word", 4), "mini-symbolic": ("symbolic", 3)})
TEMPLATES = dict.fromkeys(("mini-word", "mini-symbolic"), TEMPLATE)


@pytest.mark.parametrize(
    ("question", "percent", "expected"),
    [
        ("one two three four five", 40, ("one two", " three four five")),
        ("one two three four five", 60, ("one two three", " four five")),
        ("y=4+11", 60, ("y=4", "+11")),
        ("one two three", 10, ("one", " two three")),  # at least one
        ("one two", 99, ("one", " two")),  # and one left
        ("one", 60, None),
        ("", 60, None),
    ],
)
def test_a_question_is_cut_behind_a_word_or_sign(question, percent, expected):
    assert split(question, percent) == expected


@given(st.text(), st.sampled_from(PERCENTS))
def test_the_two_parts_are_the_question(question, percent):
    parts = split(question.strip(), percent)
    if parts is not None:
        assert "".join(parts) == question.strip() and all(part.strip() for part in parts)


def test_rouge_l_by_hand():
    assert rouge_l(["the", "cat", "sat"], ["the", "cat", "sat"]) == 1
    assert rouge_l(["the", "cat", "sat"], ["a", "cat", "sat", "down"]) == pytest.approx(2 * 2 / 7)
    assert rouge_l([], ["a"]) == 0 and rouge_l([], []) == 1


WORDS = st.lists(st.sampled_from("abcd"), max_size=12)


@given(WORDS, WORDS)
def test_the_common_subsequence_is_that_of_the_textbook_table(left, right):
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    assert common_subsequence(left, right) == table[-1][-1]


class Reciting:
    """An engine that completes every prompt as one of the texts goes on, and then rambles."""

    name, version = "reciting", "1"

    def __init__(self, texts):
        self.texts, self.bounds = texts, set()

    def sample(self, requests, sampling):
        assert sampling.temperature == 0
        self.bounds.add(sampling.max_new_tokens)
        rests = [next((t.removeprefix(r.prompt) for t in self.texts if t.startswith(r.prompt)), "") for r in requests]
        return [Completion(rest + " and so on", (1,), 1, "length", 0.0) for rest in rests]


def test_a_model_that_knows_every_question_completes_all_of_them():
    engine = Reciting(list(PROBLEMS["prompt"]))
    probe = completion_probe(engine, PROBLEMS, TEMPLATES, (0,), 50)
    assert list(probe.columns) == list(records.COMPLETION_PROBE)
    assert len(probe) == len(PROBLEMS) * len(PERCENTS)
    assert probe["exact"].all() and (probe["rouge_l"] == 1).all()
    assert max(engine.bounds) <= 50 and len(engine.bounds) > 1  # long completions for long rests only


def test_a_model_that_knows_none_completes_none():
    probe = completion_probe(Reciting([]), PROBLEMS, TEMPLATES, (0,), 50)
    assert not probe["exact"].any() and (probe["rouge_l"] < 0.5).all()


def test_what_comes_after_the_rest_and_its_whitespace_do_not_count():
    question = PROBLEMS.loc[0, "question"]
    spaced = Reciting([f"Q: {question}".replace("more", " more\n").replace("How many", "How  many")])
    probe = completion_probe(spaced, PROBLEMS[:1], TEMPLATES, (0,), 500)
    assert probe.loc[probe["percent"] == 40, "exact"].all()


def test_a_prompt_of_another_template_is_an_error_that_names_the_problem_only():
    asked = PROBLEMS.iloc[:1].assign(benchmark="gpqa", problem="rec1", question="a secret", prompt="Q: a secret\nA:")
    for known in ({"gpqa": "{question}?"}, {}):
        with pytest.raises(UserError, match="gpqa rec1 .*`ict data` anew") as error:
            completion_probe(Reciting([]), asked, known, (0,), 50)
        assert "secret" not in str(error.value)


def test_every_benchmark_of_a_study_has_its_template():
    study = load_study(STUDIES / "mini.yaml")
    assert templates(study)["mini-word"] == "Q: {question}\nA:"
    published = replace(study, benchmarks={"gsm8k": SETS["gsm8k"]})
    assert templates(published) == {"gsm8k": SETS["gsm8k"].prompt.template}


@pytest.mark.parametrize("name", ["transformers", pytest.param("vllm", marks=pytest.mark.slow)])
def test_an_engine_answers_and_answers_the_same_again(name, tiny_checkpoint):
    engine = load_engine(name, tiny_checkpoint, 160, 1, "float32")
    first, second = (
        completion_probe(engine, PROBLEMS, TEMPLATES, stop_token_ids(tiny_checkpoint), 16) for _ in range(2)
    )
    pd.testing.assert_frame_equal(first, second)
    assert not first["exact"].any() and first["rouge_l"].between(0, 1).all()  # of random weights


@pytest.mark.slow
def test_the_commands_write_scores_and_a_table_without_any_question(tiny_checkpoint, tmp_path):
    study = tmp_path / "configs/studies/smoke.yaml"
    for folder in ("benchmarks", "data", "methods", "models", "training"):
        (tmp_path / "configs").mkdir(exist_ok=True)
        (tmp_path / "configs" / folder).symlink_to(STUDIES.parent / folder)
    study.parent.mkdir()
    study.write_text((STUDIES / "smoke.yaml").read_text().replace("engine: vllm", "engine: transformers"))
    problems, out = tmp_path / "eval.parquet", tmp_path / "mini-xs/base/completion_probe.parquet"
    records.write_frame(PROBLEMS, problems, records.PROBLEMS)
    given = ["--study", str(study), "--model", "mini-xs", "--checkpoint", str(tiny_checkpoint)]
    assert main(["completion-probe", *given, "--problems", str(problems), "--out", str(out)]) == 0
    assert main(["completion-table", "--study", str(study), "--results", str(tmp_path)]) == 0
    probe = records.read_frame(out, records.COMPLETION_PROBE)
    assert set(probe["percent"]) == set(PERCENTS) and set(probe["problem"]) == set(PROBLEMS["problem"])
    table = (tmp_path / "tables/completion_probe.md").read_text()
    assert "| mini-xs | mini-word | 4 |" in table and "A smoke test" in table
