import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ict_core.grading.answers import grade_answer
from ict_core.grading.boxes import last_box


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"so \boxed{85}.", "85"),
        (r"\boxed{ \frac{1}{2} }", r"\frac{1}{2}"),
        (r"\boxed{1} then \boxed{2", "1"),
        (r"\boxed{1 then \boxed{2}", "2"),
        (r"\boxed{a \boxed{b} c}", "b"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\{1, 2}", r"\{1, 2"),
        (r"\boxed{\begin{pmatrix}1\\{2}\end{pmatrix}}", r"\begin{pmatrix}1\\{2}\end{pmatrix}"),
        (r"\\boxed{5}", "5"),
        (r"\boxed{4} so \\fbox{5}", "5"),
        ("\\boxed \n {5}", "5"),
        (r"$\boxed2$", "2"),
        (r"$\boxed -2.5$ or", "-2.5"),
        (r"\boxed 2.", "2"),
        (r"\boxed B", "B"),
        (r"}} \boxed{5}} {{", "5"),
        (r"\boxed{1} and \fbox{2}", "2"),
        (r"\fbox{1} and \boxed{2}", "2"),
        (r"\boxed{}", ""),
        (r"\boxed{12\ }", "12"),
        (r"\boxed{1\\ }", r"1\\"),
        (r"\boxed{\ }", ""),
        (r"\boxed{4} put it in \boxed and stop", "4"),
    ],
)
def test_last_box(text, answer):
    assert last_box(text).answer == answer


@pytest.mark.parametrize("text", ["", "85", r"\boxed", r"\boxed{", r"\boxed{{}", r"\boxedfoo{5}", r"\fboxes{5}"])
def test_no_box(text):
    assert last_box(text) is None


def _stripped(content):
    """Without spaces around it; a backslash that is then alone at the end was a control space."""
    content = content.strip()
    return _stripped(content[:-1]) if (len(content) - len(content.rstrip("\\"))) % 2 else content


def _by_trial(text):
    """Every box in turn from the last, its braces counted anew: quadratic, but plain."""
    for begin in reversed(list(re.finditer(r"\\(?:boxed|fbox)(?![A-Za-z])\s*", text))):
        bare = re.compile(r"-?[0-9]+(?:[.,/][0-9]+)*|[A-Z](?![A-Za-z])").match(text, begin.end())
        if bare:
            return bare[0]
        depth = 0
        for token in re.compile(r"\\\\(?!boxed|fbox)|\\[{}]|[{}]|.", re.DOTALL).finditer(text, begin.end()):
            depth += {"{": 1, "}": -1}.get(token[0], 0)
            if depth == 0:
                if token[0] == "}":
                    return _stripped(text[text.index("{", begin.start()) + 1 : token.start()])
                break
    return None


@given(
    st.lists(
        st.sampled_from(["\\boxed", "\\fbox", "\\", "\\{", "\\}", "{", "{", "}", "}", " ", "a", "B", "2", "."])
    ).map("".join)
)
def test_agrees_with_a_search_by_trial(text):
    box = last_box(text)
    assert (box and box.answer) == _by_trial(text)
    if box:
        assert last_box(box.markup) == box, "the markup alone must give the same box"
        assert box.markup in text


def test_the_stored_answer_is_cut():
    assert grade_answer(rf"\boxed{{{'9' * 1000}}}", "5", "latex") == ("wrong", "9" * 200)
