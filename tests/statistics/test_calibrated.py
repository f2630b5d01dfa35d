"""The calibration that the package carries, as it is read."""

from ict_core.statistics.calibrated import nearest


def test_the_nearest_rows_are_at_or_below_a_studys_size():
    """Which rows of the stored table are read; not whether their rates are right."""
    for problems, seeds, size, at in (([200, 50], 3, "mini average", 3), ([5000, 300], 12, "seven benchmarks", 10)):
        rows = nearest(problems, seeds)
        assert set(rows["size"]) == {size} and set(rows["seeds"]) == {at} and set(rows["case"]) == {"plain"}
    assert set(nearest([1319], 3)["size"]) == {"1,319 problems"}  # one benchmark
    assert nearest([100, 100], 3).empty and nearest([200, 50], 2).empty
