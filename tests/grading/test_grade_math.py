"""What math-verify does that is no verdict: exceptions, those that it swallows, and what it prints."""

import logging

import math_verify
import pytest

from ict_core.grading.answers import grade_answer
from ict_core.grading.math import load_math_verify


@pytest.mark.parametrize("name", ["parse", "verify"])
@pytest.mark.parametrize("error", [ValueError, RecursionError, ZeroDivisionError, NotImplementedError])
def test_an_exception_is_an_error_and_not_wrong(monkeypatch, caplog, name, error):
    def broken(*_args, **_kwargs):
        raise error

    monkeypatch.setattr(math_verify, name, broken)
    assert grade_answer(r"\boxed{1/2}", "0.5", "latex") == ("error", "1/2")
    assert error.__name__ in caplog.text


@pytest.mark.parametrize(
    ("part", "error", "status"),
    [
        ("parse_latex_cached", SyntaxError, "wrong"),
        ("parse_latex_cached", RecursionError, "error"),
        ("parse_latex_cached", MemoryError, None),
        ("extract_target_from_pred", ValueError, "error"),
    ],
)
def test_an_exception_that_parse_swallows(monkeypatch, part, error, status):
    def broken(*_args, **_kwargs):
        raise error

    monkeypatch.setattr(math_verify.parser, part, broken)
    if status:
        assert grade_answer(r"\boxed{\sqrt{12}}", r"2\sqrt{3}", "latex").status == status
    else:
        with pytest.raises(MemoryError):  # only the process that set the limit can tell what it means
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
