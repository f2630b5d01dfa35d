"""What is shown of a job's progress, and that `ict status` reads what was shown."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ict_core.process import job_log as progress
from ict_core.process.job_log import Progress, Reading, duration, line, read

COUNT = st.integers(0, 10**9)
READINGS = st.builds(
    Reading,
    st.sampled_from(["step", "completion", "answer"]),
    COUNT,
    COUNT,
    st.dictionaries(st.sampled_from(["reward", "loss"]), st.floats(width=32)),
    st.one_of(st.just(""), st.floats(0, 1e8).map(duration)),
)


@settings(max_examples=40)
@given(READINGS)
def test_a_line_is_read_as_what_it_says(reading):
    found = read(line(reading))
    assert found is not None and line(found) == line(reading)
    assert found._replace(values={}) == reading._replace(values={})
    for name, value in reading.values.items():
        assert found.values[name] == pytest.approx(value, rel=0.006, nan_ok=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "step",
        "step 1 of",
        "a step 1 of 2",
        "step 1 of 2 ",
        "step 1 of 2, 8 s",
        "step 1 of 2, reward high",
        "step 1 of 2, reward 1.2.3",
    ],
)
def test_no_other_text_is_read(text):
    assert read(text) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (99.4, "99 s"), (99.6, "2 min"), (5940, "99 min"), (5970, "2 h"), (1e6, "278 h")],
)
def test_a_duration_has_the_unit_of_two_or_three_digits(seconds, text):
    assert duration(seconds) == text


@pytest.fixture
def clock(monkeypatch):
    """The time, to be set."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_log_has_a_line_every_ten_seconds_and_the_first_and_last_always(capsys, clock):
    shown = Progress("step", 60)
    for step in range(21, 61):
        clock[0] += 2.0
        shown.update(step, reward=step / 100)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == [
        "step 21 of 60, reward 0.21",
        "step 26 of 60, reward 0.26, 68 s left",
        "step 31 of 60, reward 0.31, 58 s left",
    ]
    assert lines[-1] == "step 60 of 60, reward 0.6"
    assert len(lines) == 9
