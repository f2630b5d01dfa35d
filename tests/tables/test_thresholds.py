import pytest
import synthetic

from ict_core.errors import UserError
from ict_core.statistics.runs import run_frame
from ict_core.tables.contrasts import contrasts
from ict_core.tables.thresholds import COLUMNS, fractions, threshold_numbers, threshold_table


@pytest.fixture(scope="module")
def runs():
    return run_frame(synthetic.scores(), (1, 4))


def test_fractions_are_read_from_the_names():
    assert fractions(["grpo", "ict-20", "random-10", "ict-5", "ict-loo-10", "stapo"]) == [
        ("ict-5", "ict", 5),
        ("ict-20", "ict", 20),
        ("random-10", "random", 10),
        ("ict-loo-10", "ict-loo", 10),
    ]


def test_the_reference_comes_first_and_has_no_difference(runs):
    numbers = threshold_numbers(runs, synthetic.VARIANTS)
    assert list(numbers.columns) == COLUMNS and len(numbers) == 2 * 7 * 2
    reference = numbers[numbers["variant"] == "grpo"]
    assert reference.index.tolist() == [0, 1, 14, 15] and (reference["percent"] == 100).all()
    assert reference[["difference", "difference_low", "difference_high"]].isna().all(axis=None)


def test_differences_are_those_of_the_contrasts(runs):
    key = ["model", "variant", "metric"]
    numbers = threshold_numbers(runs, synthetic.VARIANTS).set_index(key)
    tests = contrasts(runs, synthetic.VARIANTS, ["grpo"]).set_index(key)
    both = numbers.join(tests, suffixes=("", "_tested"), how="inner")
    assert len(both) == 2 * 6 * 2
    for ours, theirs in (("difference", "difference_tested"), ("difference_low", "low_tested")):
        assert both[ours].to_numpy() == pytest.approx(both[theirs].to_numpy())


def test_metrics_stand_side_by_side(runs):
    table = threshold_table(threshold_numbers(runs, synthetic.VARIANTS))
    assert list(table.shown.columns)[:4] == ["model", "selector", "kept %", "seeds"]
    assert list(table.shown.columns)[4:] == ["pass@1", "Δ pass@1", "pass@4", "Δ pass@4"]
    assert len(table.shown) == 2 * 7
    assert table.shown["kept %"].tolist()[:7] == ["100", "20", "5", "10", "20", "30", "10"]
    assert table.shown["Δ pass@1"].iloc[0] == "—" and "±" in table.shown["Δ pass@4"].iloc[1]


def test_without_fractions_the_reference_stands_alone(runs):
    assert len(threshold_table(threshold_numbers(runs, ["grpo", "stapo"])).shown) == 2


def test_a_study_without_the_reference_is_told_so(runs):
    with pytest.raises(UserError, match="no run of tiny/grpo"):
        threshold_numbers(runs[runs["variant"] != "grpo"], ["ict-10"])
