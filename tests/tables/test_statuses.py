import pytest
import synthetic
import table_frames as made

from ict_core.store.records import STATUSES
from ict_core.tables.statuses import SHARES, status_numbers, statuses_table


@pytest.fixture(scope="module")
def scores():
    frame = synthetic.scores(["tiny"], ["grpo", "ict-10"], seeds=(2, 1))
    first = frame.index[(frame["variant"] == "grpo") & (frame["seed"] == 1)][0]
    frame.loc[first, ["sampled", "n", "correct", "wrong", "no_answer", "timeout"]] = [8, 7, 0, 7, 0, 1]
    return frame


def test_one_row_a_cell_base_first(scores):
    numbers = status_numbers(scores, ["ict-10", "grpo"])
    cells = numbers[["variant", "seed"]].to_numpy().tolist()
    assert cells == [["base", 0], ["ict-10", 1], ["ict-10", 2], ["grpo", 1], ["grpo", 2]]
    assert (numbers["sampled"] == 330 * 8).all()


def test_statuses_add_up_and_truncation_overlaps(scores):
    numbers = status_numbers(scores, ["grpo"])
    assert numbers[list(STATUSES)].sum(axis=1).to_numpy() == pytest.approx(1)
    cell = scores[(scores["variant"] == "grpo") & (scores["seed"] == 2)]
    assert numbers.loc[2, "truncated"] == pytest.approx(cell["truncated"].sum() / cell["sampled"].sum())


def test_one_timeout_in_many_is_still_seen(scores):
    shown = statuses_table(scores, made.settings(["grpo"])).shown
    assert list(shown.columns)[4:] == [s.replace("_", " ") for s in SHARES]
    assert shown["timeout"].tolist() == ["0.0", "<0.1", "0.0"]
