import math

import pandas as pd

from ict_core.figures import readings as figure
from ict_core.store import records
from ict_core.tables.readings import readings_table
from ict_core.tables.write import csv

RANGES = {"probability": (0.09, 0.27), "high_share": (0.444, 0.556), "elbow": (0.05, 0.15)}


def reading(name, reference, quantity, *, figures, fits=(True, True, True), cut="median"):
    """A row of `records.STUDY_READINGS`; every interval reaches 0.02 to both sides."""
    row = {"model": "mini-s", "variant": "base", "set": name, "reference": reference, "scope": "batch"}
    row |= {"quantity": quantity, "cut": cut, "temperature": 0.6, "kept_share": 0.1, "median_h1": 0.002}
    row |= {"tokens": 1234, "prompts": 12, "elbow_prompts": 11, "meets": all(fits)}
    for key, value, fit in zip(RANGES, figures, fits, strict=True):
        row |= {key: value, f"{key}_low": value - 0.02, f"{key}_high": value + 0.02, f"{key}_fits": fit}
    return row


def frame(*rows):
    return pd.DataFrame(rows)[list(records.STUDY_READINGS)]


FOUND = frame(
    reading("first", "zeros", "P_avg(a)", figures=(0.18, 0.5, 0.1)),
    reading("first", "group", "beta", figures=(0.2, 0.45, 0.06)),
    reading("first", "position", "p(a)", figures=(0.9, 0.5, math.nan), fits=(False, True, False)),
    reading("second", "zeros", "P_avg(a)", figures=(0.17, 0.51, 0.09)),
    reading("second", "group", "beta", figures=(0.2, 0.3, 0.07), fits=(True, False, True)),
    reading("second", "position", "p(a)", figures=(0.18, 0.5, 0.1)),
)


def test_a_row_a_reading_that_the_first_set_finds_with_what_the_second_says():
    table = readings_table(FOUND)
    assert table.readable.values.tolist() == [
        ["mini-s", "base", "zeros", "batch", "P_avg(a)", "median", "0.6"]
        + ["18.0 ± 2.0", "50.0 ± 2.0", "10.0 ± 2.0", "17.0 / 51.0 / 9.0", "yes"],
        ["mini-s", "base", "group", "batch", "beta", "median", "0.6"]
        + ["20.0 ± 2.0", "45.0 ± 2.0", "6.0 ± 2.0", "20.0 / 30.0 / 7.0", "no"],
    ]
    assert "of 3 readings 2 “probability”, 3 above the cut, 2 elbow; all three 2" in table.caption
    assert "p(a) is 0.50 or more" in table.caption  # half of exp(-0.002)
    assert "confirmed 1." in table.caption and "1,234 tokens of 12 prompts" in table.caption
    assert len(csv(table.numbers).splitlines()) == 7  # every reading of both sets


def test_the_figure_has_a_point_a_reading_and_the_field_of_the_ranges():
    by_construction = reading("first", "zeros", "beta", figures=(0.5, 0.5, 0.1), cut="median of the kept")
    drawn = figure.draw(frame(*FOUND.to_dict("records"), by_construction), RANGES)
    first, second = drawn.axes
    points = {
        (line.get_color(), line.get_markerfacecolor() != "none"): line.get_xydata().tolist() for line in first.lines
    }
    assert points == {
        (figure.COLOURS["P_avg(a)"], True): [[18.0, 50.0]],
        (figure.COLOURS["beta"], True): [[20.0, 45.0]],
        (figure.COLOURS["p(a)"], False): [[90.0, 50.0]],
    }
    assert sum(len(line.get_xydata()) for line in second.lines) == 3
    [field] = first.patches
    assert [field.get_x(), field.get_y()] == [9.0, 44.4]
    assert [round(field.get_width(), 6), round(field.get_height(), 6)] == [18.0, 11.2]
