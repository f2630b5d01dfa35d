"""The figure of a batch's size: what is held equal in each column, and a line a rule with the stated points."""

import math

import pandas as pd
import pytest

from ict_core.figures.batches import draw, panels
from ict_core.statistics.schemas import BATCHES


def row(rule, prompts, steps, kept, metric="pass@1", low=None):
    name = rule if (prompts, steps) == (32, 48) else f"{rule}-{prompts}x{steps}"
    reference = name.replace(rule, "grpo", 1)
    limits = (math.nan, math.nan) if low is None else (low, 2 * kept - low)
    return ("m", rule, name, reference, prompts, steps, metric, prompts * 25.0, 6, 0.3, 0.2, 0.4, kept, *limits)


ROWS = pd.DataFrame(
    [
        row(rule, prompts, steps, kept, metric, low)
        for metric in ("pass@1", "pass@4")
        for rule, points in {
            "grpo": [(32, 48, 1, None), (8, 48, 1, None), (8, 192, 1, None)],
            "ict-10": [(32, 48, 0.5, 0.4), (8, 48, 0.1, None), (8, 192, 0.2, 0.1)],
        }.items()
        for prompts, steps, kept, low in points
    ],
    columns=list(BATCHES),
)


def test_a_column_holds_the_updates_equal_and_one_the_rollouts():
    held = {name: set(rows["variant"]) for name, rows in panels(ROWS[ROWS["rule"] == "ict-10"], 32, 48).items()}
    assert held == {"48 updates": {"ict-10", "ict-10-8x48"}, "1,536 prompts": {"ict-10", "ict-10-8x192"}}


def test_a_line_a_rule_over_the_tokens_and_limits_where_there_are_any():
    figure = draw(ROWS, ["grpo", "ict-10"])
    updates, rollouts = figure.axes[:2]
    lines = [[line.get_xydata().tolist() for line in axis.lines[1:]] for axis in (updates, rollouts)]
    assert lines == [[[[200, 0.1], [800, 0.5]]], [[[200, 0.2], [800, 0.5]]]]  # the baseline, which keeps 1, has none
    bars = [[bar.ravel().tolist() for bar in axis.collections[0].get_segments()] for axis in (updates, rollouts)]
    assert bars[0] == [pytest.approx([800, 0.4, 800, 0.6])] and len(bars[1]) == 2


def test_a_model_may_lack_a_rule_with_the_batch_of_the_recipe():
    other = ROWS[(ROWS["rule"] == "grpo") | (ROWS["prompts"] == 8)].assign(model="n")
    figure = draw(pd.concat([ROWS, other]), ["grpo", "ict-10"])
    assert [axis.get_title() for axis in figure.axes[2:4]] == ["n, 48 updates", "n, 1,536 prompts"]
    assert figure.axes[2].lines[1].get_xydata().tolist() == [[200, 0.1]]


def test_a_study_that_varies_no_batch_says_so():
    assert not draw(pd.DataFrame(columns=list(BATCHES)), ["grpo"]).axes[0].lines
