"""A problem is put into its set's template and taken out of it again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from published_sets import MIRROR, OPEN, SETS, real_rows

from ict_core.problems.mini.problems import FAMILIES, TEMPLATE
from ict_core.problems.published.item import Item
from ict_core.problems.published.prompts import prompt, unfilled
from ict_core.seeding import generator

CHOICE, OPEN_ENDED = (SETS[name].prompt.template for name in ("gpqa", "math-500"))
ONE_LINE = st.text(st.characters(exclude_characters="\n"))


@given(st.text())
def test_any_question_comes_back(question):
    assert unfilled(OPEN_ENDED, prompt(OPEN_ENDED, Item("1", question, "2"))) == (question, ())


@given(st.text(), st.tuples(ONE_LINE, ONE_LINE, ONE_LINE, ONE_LINE))
def test_any_question_and_options_of_one_line_come_back(question, options):
    assert unfilled(CHOICE, prompt(CHOICE, Item("1", question, "A", options))) == (question, options)


def test_a_question_may_hold_options_and_words_of_the_template():
    options = ("{question}", "{options}", "B) b", "Let's think step by step")
    question = "Which?\n\nA) 1\nB) 2\nC) 3\nD) 4\n\nAnswer with the letter of the right option."
    assert unfilled(CHOICE, prompt(CHOICE, Item("1", question, "A", options))) == (question, options)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_generated_question_comes_back(family):
    problem = FAMILIES[family](generator(0, "test"))
    assert unfilled(TEMPLATE, problem.prompt) == (problem.question, ())


def test_a_prompt_of_another_template_is_refused_without_its_words():
    with pytest.raises(ValueError) as error:
        unfilled(CHOICE, prompt(OPEN_ENDED, Item("1", "a secret", "2")))
    assert "secret" not in str(error.value)


@real_rows
@pytest.mark.parametrize("name", OPEN)
def test_every_real_problem_comes_back(name):
    from ict_core.problems.published.load import load_items

    template = SETS[name].prompt.template
    for item in load_items(SETS[name], MIRROR):
        assert unfilled(template, prompt(template, item)) == (item.question, item.choices or ())
