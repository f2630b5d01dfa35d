"""A problem keeps its parts: question and options stand beside the prompt that was made of them."""

import json

import pytest
from published_sets import MIRROR, OPEN, SETS, gpqa_row, real_rows, write_rows

from ict_core.problems.mini import TEMPLATE, evaluation_problems
from ict_core.problems.mini._problems import FAMILIES
from ict_core.problems.published import load_problems
from ict_core.problems.published._load import Item, load_items, prompt
from ict_core.problems.published.readers import gpqa


def kept(problems) -> list[tuple[str, tuple[str, ...]]]:
    """Question and options of each row, as they are read back."""
    options = map(tuple, map(json.loads, problems["options"]))
    return list(zip(problems["question"], options, strict=True))


@pytest.mark.parametrize("question", ["Which?", "Which?\n\nA) 1\nB) 2\nC) 3\nD) 4", "{options} é \\boxed{} \u2028"])
def test_any_question_and_options_are_kept_as_they_are(question, tmp_path):
    """Also those that the prompt alone does not give back: lines and places of the template, options of two lines."""
    row = gpqa_row(0) | {"Question": question, "Incorrect Answer 1": "A) a\nB) b", "Incorrect Answer 2": "{question}"}
    write_rows(tmp_path, "Idavidrein/gpqa/gpqa_diamond/train", [row])
    problems = load_problems(SETS["gpqa"].model_copy(update={"rows": 1}), tmp_path, 0)
    item = gpqa.read(row)
    assert kept(problems) == [(question.strip(), item.choices)]
    assert list(problems["prompt"]) == [prompt(SETS["gpqa"].prompt.template, item)]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_generated_question_is_kept(family):
    problems = evaluation_problems(0, {"made": (family, 3)})
    assert [TEMPLATE.format(question=question) for question in problems["question"]] == list(problems["prompt"])
    assert set(problems["options"]) == {"[]"}


@pytest.mark.slow
@real_rows
@pytest.mark.parametrize("name", OPEN)
def test_every_real_problem_is_kept(name):
    items = load_items(SETS[name], MIRROR)
    problems = load_problems(SETS[name], MIRROR, 0)
    assert kept(problems) == [(item.question, item.choices or ()) for item in items]
    made = [Item("", question, "", options) for question, options in kept(problems)]
    assert [prompt(SETS[name].prompt.template, item) for item in made] == list(problems["prompt"])
