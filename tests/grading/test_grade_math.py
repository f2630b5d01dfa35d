import logging

import math_verify
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ict_core.grading import Verdict, grade_answer, load_math_verify
from ict_core.grading._math import _equal, _integer, settle_math


@pytest.mark.parametrize(
    ("answer", "gold", "status"),
    [
        ("85", "85", "correct"),
        ("084", "85", "wrong"),
        ("1,234", "1234", "correct"),
        ("1,23", "123", "wrong"),  # the set {1, 23}
        ("-0", "0", "correct"),
        ("- 5", "-5", "correct"),
        ("+5", "5", "correct"),
        ("$5$.", "5", "correct"),
        ("$5.$", "5", "correct"),
        (r"\$5", "5", "correct"),
        ("1/2", r"\frac{1}{2}", "correct"),
        ("0.5", r"\frac{1}{2}", "correct"),
        (r"\dfrac12", r"\frac{1}{2}", "correct"),
        ("0.51", r"\frac{1}{2}", "wrong"),
        (r"\sqrt{12}", r"2\sqrt{3}", "correct"),
        ("(2, 1)", "(1,2)", "wrong"),
        (r"\left( 1, 2 \right)", "(1,2)", "correct"),
        (r"\{2, 1\}", r"\{1,2\}", "correct"),
        ("x=5", "5", "correct"),
        ("(x+1)^2", "x^2+2x+1", "correct"),
        (r"5\text{ cm}", "5", "correct"),
        ("\\text{east}", "\\text{ east }", "correct"),
        ("a+b  + c", "a + b + c", "correct"),
        ("\\left(1,\\dfrac {2}3 \\right)", "(1,\\frac{2}3)", "correct"),
        ("1 2", "12", "wrong"),
        ("10080", "10,\\!080", "correct"),
        ("10\\,080", "10080", "correct"),
        ("\\frac{10080}{7}", "\\frac{10,\\!080}{7}", "correct"),
        ("1,\\! 000,\\! 001", "1,000,001", "correct"),
        ("\\text{west}", "\\text{east}", "wrong"),
        ("５", "5", "wrong"),
        ("", "5", "no_answer"),
        (" . ", "5", "no_answer"),
        ("?!", "5", "wrong"),
        ("\\input{/etc/passwd}", "5", "wrong"),
        ("\\frac{", "5", "no_answer"),  # never closes
        ("and so 5 it is", "5", "wrong"),  # no number is picked out of prose
    ],
)
def test_hand_cases(answer, gold, status):
    assert grade_answer(f"so \\boxed{{{answer}}}.", gold, "latex").status == status


def test_a_number_in_prose_is_no_answer():
    assert grade_answer("85 is not prime", "85", "latex") == ("no_answer", "")


@pytest.mark.parametrize("name", ["parse", "verify"])
@pytest.mark.parametrize("error", [ValueError, RecursionError, ZeroDivisionError, NotImplementedError])
def test_an_exception_is_an_error_and_not_wrong(monkeypatch, caplog, name, error):
    def broken(*_args, **_kwargs):
        raise error

    monkeypatch.setattr(math_verify, name, broken)
    assert grade_answer(r"\boxed{1/2}", "0.5", "latex") == ("error", "1/2")
    assert error.__name__ in caplog.text


@pytest.mark.parametrize(("error", "status"), [(SyntaxError, "wrong"), (RecursionError, "error")])
def test_an_exception_that_parse_swallows(monkeypatch, error, status):
    def broken(_latex):
        raise error

    monkeypatch.setattr(math_verify.parser, "parse_latex_cached", broken)
    assert grade_answer(r"\boxed{\sqrt{12}}", r"2\sqrt{3}", "latex").status == status


def test_a_swallowed_memory_error_is_raised(monkeypatch):
    def broken(_latex):
        raise MemoryError

    monkeypatch.setattr(math_verify.parser, "parse_latex_cached", broken)
    with pytest.raises(MemoryError):
        grade_answer(r"\boxed{\sqrt{12}}", r"2\sqrt{3}", "latex")


def test_nan_is_an_error():
    assert grade_answer(r"\boxed{3}", r"\frac{1}{0}", "latex").status == "error"


@pytest.mark.slow
def test_deep_nesting_is_an_error_and_not_wrong():
    assert grade_answer(r"\boxed{" + "-" * 1000 + "5}", "x", "latex").status == "error"


def test_loading_is_quiet(caplog):
    with caplog.at_level(logging.DEBUG):
        load_math_verify()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


integers = st.integers(-(10**6), 10**6)


def forms(number):
    return st.sampled_from([f"{number}", f"{number:,}", f"{number:08d}", f"{number:03d}"])


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(st.tuples(integers, integers), integers.map(lambda n: (n, n))).flatmap(
        lambda p: st.tuples(*map(forms, p))
    )
)
def test_integers_compare_as_math_verify_compares_them(pair):
    answer, gold = pair
    assert _integer(answer) is not None and _integer(gold) is not None
    assert (_integer(answer) == _integer(gold)) == _equal(answer, gold)


@given(integers.flatmap(lambda n: st.tuples(st.just(n), forms(n))))
def test_the_canonical_integer_is_the_integer(pair):
    number, form = pair
    assert _integer(form) == str(number)


@pytest.mark.parametrize(
    "text", ["", "-", "1.0", "1,23", "0,123", "1,2345", "12,34,567", "٣", "1 000", "--1", "+1", "1\n"]
)
def test_not_an_integer(text):
    assert _integer(text) is None


@given(st.one_of(integers.map(str), st.text(st.characters(exclude_characters="\\{}")).filter(lambda t: t.strip(" .$"))))
def test_gold_is_correct_against_itself_in_a_box(gold):
    verdict = grade_answer(f"I think \\boxed{{{gold}}}", gold, "latex")
    assert verdict.status == ("correct" if settle_math(gold, gold) != Verdict("no_answer") else "no_answer")


@given(st.text(), st.text())
def test_settling_never_raises(answer, gold):
    verdict = settle_math(answer, gold)
    assert verdict is None or verdict.status in ("correct", "wrong", "no_answer")
