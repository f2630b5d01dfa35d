"""A model's template stands around each prompt, and nothing in either is read but the one place."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ict_core.config import Template
from ict_core.problems import templated


def test_the_template_of_a_chat_model():
    template = Template(template="<|user|>\n{prompt}<|end|>\n<|assistant|>\n", source="made up")
    prompts = pd.Series(["What is 1+1?", r"Put it in \boxed{}, not {prompt} or %s."], index=[4, 7])
    found = templated(template, prompts)
    assert found.tolist() == [
        "<|user|>\nWhat is 1+1?<|end|>\n<|assistant|>\n",
        "<|user|>\nPut it in \\boxed{}, not {prompt} or %s.<|end|>\n<|assistant|>\n",
    ]
    assert found.index.tolist() == [4, 7]


def test_without_a_template_nothing_changes():
    prompts = pd.Series(["a"])
    pd.testing.assert_series_equal(templated(None, prompts), prompts)


@pytest.mark.parametrize("around", [("", ""), ("{", "}"), ("{}", "{0}\\1")])
@given(prompt=st.text())
def test_any_prompt_stays_as_it_is(around, prompt):
    before, after = around
    template = Template(template=before + "{prompt}" + after, source="made up")
    assert templated(template, pd.Series([prompt], dtype=str)).tolist() == [before + prompt + after]
