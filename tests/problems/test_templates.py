"""A model's template stands around each prompt, and nothing in either is read but the one place."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ict_core.config.inputs import Template
from ict_core.problems.templates import templated


@pytest.mark.parametrize("around", [("<|user|>\n", "<|end|>"), ("", ""), ("{", "}"), ("{}", "{0}\\1")])
@given(prompt=st.sampled_from([r"Put it in \boxed{}, not {prompt} or %s."]) | st.text())
def test_any_prompt_stays_as_it_is(around, prompt):
    before, after = around
    template = Template(template=before + "{prompt}" + after, source="made up")
    prompts = pd.Series([prompt], index=[4], dtype=str)
    found = templated(template, prompts)
    assert found.tolist() == [before + prompt + after] and found.index.tolist() == [4]
    assert templated(None, prompts) is prompts
