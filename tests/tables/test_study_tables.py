"""The tables on the study itself: gates, batches, statuses, compute, contamination."""

import pandas as pd
import pytest
import synthetic
import table_frames as made

from ict_core.statistics.schemas import BATCHES, VALIDITY
from ict_core.store.records import STATUSES
from ict_core.tables.batches import batches_table
from ict_core.tables.compute import compute_table
from ict_core.tables.contamination import contamination_table
from ict_core.tables.near_duplicates import SHOWN, near_duplicates_table
from ict_core.tables.statuses import SHARES, statuses_table
from ict_core.tables.validity import validity_table

NAN = float("nan")
GATES = pd.DataFrame(
    [
        ("gain", "tiny", "grpo − base, pass@1", "", 0.136, 0.112, 0.159, NAN, 6, "at least 15", "failed", "too little"),
        ("kept", "tiny", "share", "", 0.314, 0.25, 0.39, NAN, 6, "at least 0.7", "passed", ""),
        ("replica", "", "a − b", "", NAN, NAN, NAN, NAN, 0, "within", "not measured", "without a"),
        ("oracle", "tiny", "o − p", "", 0.105, 0.062, 0.148, 0.0014, 6, "above 0", "passed", ""),
        ("rate", "tiny", "learning rate of ict-10", "", 1e-4, NAN, NAN, NAN, 2, "", "the lowest tried", ""),
        ("detectable", "all", "family", "", 0.037, 0.031, 0.05, NAN, 6, "", "power", ""),
    ],
    columns=list(VALIDITY),
)


def test_points_ratios_and_rates_of_gates_are_printed_as_what_they_are():
    readable = validity_table(GATES, made.settings()).readable
    assert readable["value"].tolist() == [
        *("13.6 [11.2 to 15.9]", "0.31 [0.25 to 0.39]", "—"),
        *("10.5 [6.2 to 14.8]", "0.0001", "3.7 (3.1 to 5.0)"),
    ]
    assert readable["p"].tolist() == ["—", "—", "—", "0.001", "—", "—"]
    assert readable["model"].tolist()[2] == readable["seeds"].tolist()[2] == "—"


def test_a_row_a_rule_and_batch():
    rows = [
        ("mini-s", "grpo", "grpo", "grpo", 32, 48, "pass@1", 8000.4, 6, 0.41, 0.38, 0.44, 1.0, NAN, NAN),
        ("mini-s", "ict-10", "ict-10-8", "grpo-8", 8, 48, "pass@1", 201.2, 6, 0.02, -0.01, 0.05, 0.125, -0.05, 0.3),
    ]
    table = batches_table(pd.DataFrame(rows, columns=list(BATCHES)), made.settings())
    assert table.readable.values.tolist() == [
        ["mini-s", "pass@1", "grpo", "32 × 48", "8,000", "+41.0 ± 3.0", "1.00"],
        ["mini-s", "pass@1", "ict-10", "8 × 48", "201", "+2.0 ± 3.0", "0.12 [−0.05 to 0.30]"],
    ]
    assert list(table.numbers.columns) == list(BATCHES)


@pytest.fixture(scope="module")
def scores():
    frame = synthetic.scores(["tiny"], ["grpo", "ict-10"], seeds=(2, 1))
    first = frame.index[(frame["variant"] == "grpo") & (frame["seed"] == 1)][0]
    frame.loc[first, ["sampled", "n", "correct", "wrong", "no_answer", "timeout"]] = [8, 7, 0, 7, 0, 1]
    return frame


def test_statuses_of_a_cell_add_up_and_truncation_overlaps(scores):
    table = statuses_table(scores, made.settings(["ict-10", "grpo"]))
    cells = table.numbers[["variant", "seed"]].to_numpy().tolist()
    assert cells == [["base", 0], ["ict-10", 1], ["ict-10", 2], ["grpo", 1], ["grpo", 2]]
    assert (table.numbers["sampled"] == 330 * 8).all()
    assert table.numbers[list(STATUSES)].sum(axis=1).to_numpy() == pytest.approx(1)
    cell = scores[(scores["variant"] == "grpo") & (scores["seed"] == 2)]
    assert table.numbers["truncated"].iloc[-1] == pytest.approx(cell["truncated"].sum() / cell["sampled"].sum())
    assert list(table.readable.columns)[4:] == [s.replace("_", " ") for s in SHARES]
    assert table.readable["timeout"].tolist() == ["0.0", "0.0", "0.0", "<0.1", "0.0"]  # one in many is still seen


COMPUTE = made.compute([("small", "grpo", 2), ("small", "grpo", 0), ("small", "base", 0), ("tiny", "grpo", 0)])
MODELS = pd.DataFrame({"model": ["tiny", "small"]})


def test_jobs_in_order_with_their_rate_and_runs_as_a_mean_with_a_range():
    table = compute_table(COMPUTE, MODELS, made.settings(["grpo"]))
    assert table.numbers[["model", "variant", "seed", "stage"]].to_numpy().tolist() == [
        ["tiny", "grpo", 0, "train"],
        ["tiny", "grpo", 0, "generate"],
        ["small", "base", 0, "pretrain"],
        ["small", "base", 0, "generate"],
        ["small", "grpo", 0, "train"],
        ["small", "grpo", 2, "train"],
        ["small", "grpo", 0, "generate"],
        ["small", "grpo", 2, "generate"],
    ]
    assert table.numbers["tokens_per_second"].tolist()[4:6] == [500.0, 1500.0]
    row = table.readable[(table.readable["model"] == "small") & (table.readable["stage"] == "train")].iloc[0]
    assert row["runs"] == "2" and row["tokens"] == "2,000 (1,000 to 3,000)" and row["seconds"] == "2.0"
    assert row["tokens a second"] == "1,000 (500 to 1,500)" and row["peak GPU memory, MiB"] == "—"
    assert "The 8 jobs of this table together: 0.00" in table.caption


@pytest.mark.parametrize(
    ("changed", "known"), [({"seconds": 0.0}, False), ({"seconds": 1e-300}, True), ({"tokens": 0}, False)]
)
def test_no_rate_without_time_or_without_a_token(changed, known):
    rates = compute_table(COMPUTE.assign(**changed), MODELS, made.settings(["grpo"])).numbers["tokens_per_second"]
    assert rates.notna().all() == rates.notna().any() == known


def test_counts_of_the_overlap_stand_beside_their_share_in_the_studys_order():
    table = contamination_table(made.contamination(made.MIRRORS), made.settings())
    assert table.numbers["benchmark"].tolist() == list(made.MIRRORS)
    assert table.readable.iloc[0].to_dict() == {
        "benchmark": "mini-word",
        "problems": "40",
        "repeated": "1 (2.5 %)",
        "exact": "0",
        "13-gram": "3 (7.5 %)",
        "too short": "2 (5.0 %)",
        "near-duplicate": "4 (10.0 %)",
        "same answer too": "1 (2.5 %)",
        "equal but for numbers": "39 (97.5 %)",
    }
    assert "2,000 training problems" in table.caption


def test_the_nearest_pairs_are_shown_and_all_are_kept():
    table = near_duplicates_table(made.near_duplicates(SHOWN + 2), made.settings())
    assert len(table.numbers) == SHOWN + 2 and len(table.readable) == SHOWN
    assert table.readable["similarity"].tolist()[:2] == ["1.000", "0.990"]


@pytest.mark.parametrize(
    ("empty", "words"),
    [
        (lambda s: validity_table(pd.DataFrame(columns=list(VALIDITY)), s), "not measured"),
        (lambda s: batches_table(pd.DataFrame(columns=list(BATCHES)), s), "varies no batch that `grpo`"),
        (lambda s: near_duplicates_table(made.near_duplicates(0), s), "No evaluation question"),
    ],
)
def test_a_study_that_has_nothing_to_show_says_so(empty, words):
    table = empty(made.settings())
    assert table.readable.empty and words in table.caption
