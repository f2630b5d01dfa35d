import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ict_core.grading import Verdict, last_box
from ict_core.grading._boxes import EXTRACTED_LIMIT


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"so \boxed{85}.", "85"),
        (r"\boxed{ \frac{1}{2} }", r"\frac{1}{2}"),
        (r"\boxed{1} then \boxed{2}", "2"),
        (r"\boxed{1} then \boxed{2", "1"),
        (r"\boxed{1 then \boxed{2}", "2"),
        (r"\boxed{a \boxed{b} c}", "b"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\{1, 2}", r"\{1, 2"),
        (r"\boxed{\begin{pmatrix}1\\{2}\end{pmatrix}}", r"\begin{pmatrix}1\\{2}\end{pmatrix}"),
        (r"\\boxed{5}", "5"),
        ("\\boxed \n {5}", "5"),
        (r"$\boxed 2$", "2"),
        (r"$\boxed2$", "2"),
        (r"$\boxed -2.5$ or", "-2.5"),
        (r"\boxed 2.", "2"),
        (r"\boxed B", "B"),
        (r"}} \boxed{5}} {{", "5"),
        (r"\boxed{}", ""),
        (r"\boxed{4} put it in \boxed and stop", "4"),
    ],
)
def test_last_box(text, answer):
    assert last_box(text).answer == answer


@pytest.mark.parametrize(
    "text", ["", "85", r"\boxed", r"\boxed{", r"\boxed{{}", r"\boxedfoo{5}", r"\fbox{5}", "boxed{5}"]
)
def test_no_box(text):
    assert last_box(text) is None


def balanced():
    leaf = st.text(st.characters(exclude_characters="\\{}", exclude_categories=["Cs"]), max_size=8)
    return st.recursive(leaf, lambda inner: st.builds("{}{{{}}}{}".format, leaf, inner, leaf), max_leaves=8)


@given(st.text(), balanced(), st.text().filter(lambda text: "\\" not in text))
def test_the_last_balanced_box_is_found_after_any_text(before, inside, after):
    assert last_box(f"{before} \\boxed{{{inside}}}{after}").answer == inside.strip()


def _by_trial(text):
    """Every box in turn from the last, its braces counted anew: quadratic, but plain."""
    for begin in reversed(list(re.finditer(r"\\boxed(?![A-Za-z])\s*", text))):
        bare = re.compile(r"-?[0-9]+(?:[.,/][0-9]+)*|[A-Z](?![A-Za-z])").match(text, begin.end())
        if bare:
            return bare[0]
        depth = 0
        for token in re.compile(r"\\\\(?!boxed)|\\[{}]|[{}]|.", re.DOTALL).finditer(text, begin.end()):
            depth += {"{": 1, "}": -1}.get(token[0], 0)
            if depth == 0:
                if token[0] == "}":
                    return text[text.index("{", begin.start()) + 1 : token.start()].strip()
                break
    return None


@given(
    st.lists(st.sampled_from(["\\boxed", "\\", "\\{", "\\}", "{", "{", "}", "}", " ", "a", "B", "2", "."])).map("".join)
)
def test_agrees_with_a_search_by_trial(text):
    box = last_box(text)
    assert (box and box.answer) == _by_trial(text)
    if box:
        assert last_box(box.markup) == box, "the markup alone must give the same box"
        assert box.markup in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["{", "}", "{}", "\\boxed{", "\\boxed", "\\boxed ", "\\boxed{}", "\\", "\\{", " ", "9", "\\boxed 9,9"]
)
def test_linear_on_a_megabyte(piece):
    def seconds(characters):
        text = "\\boxed" + piece * (characters // len(piece))
        begin = time.process_time()
        last_box(text)
        return time.process_time() - begin

    tenth, whole = min(seconds(100_000) for _ in range(3)), seconds(1_000_000)
    assert whole < 40 * max(tenth, 0.005)  # 100 times where quadratic
    assert whole < 5


def test_the_stored_answer_is_cut():
    assert Verdict.on("9" * 1000, "wrong") == ("wrong", "9" * EXTRACTED_LIMIT)
