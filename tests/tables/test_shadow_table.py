"""The rules on the baseline's rollouts: means over steps, then over seeds."""

import numpy as np
import pandas as pd
import pytest
import table_frames as made
from one_sample import t_interval

from ict_core.evidence import RULE_QUANTITIES
from ict_core.evidence._measures import rule_means
from ict_core.tables.shadow import shadow_table

NAN = float("nan")


def two_runs(**more):
    """ICT 10 % on GRPO's rollouts, two steps of two runs, and on its own."""
    values = [(1, 0, 0.1), (1, 10, 0.3), (2, 0, 0.4), (2, 10, NAN)]
    rows = [made.shadow_row(rule="ict-10", seed=s, step=t, gradient_share=x, **more) for s, t, x in values]
    return pd.DataFrame([*rows, made.shadow_row(rule="ict-10", variant="ict-10", gradient_share=0.9)])


def test_steps_are_averaged_within_a_run_and_runs_have_an_interval():
    numbers = shadow_table(rule_means(two_runs(), "grpo"), made.settings()).numbers.set_index("quantity")
    assert list(numbers.index) == list(RULE_QUANTITIES) and set(numbers["rollouts"]) == {"grpo"}
    expected = t_interval([0.2, 0.4])
    found = numbers.loc["gradient_share"]
    assert (found["mean"], found["low"], found["high"], found["seeds"]) == pytest.approx(
        (expected.mean, expected.low, expected.high, 2)
    )


def test_what_no_run_has_is_a_dash():
    table = shadow_table(rule_means(two_runs().assign(gradient_share=NAN), "grpo"), made.settings())
    assert table.shown["gradient"].tolist() == ["—"] and table.shown["kept"].tolist() == ["10.0 ± —"]
    assert table.numbers.set_index("quantity").loc["gradient_share", "seeds"] == 0


def test_rules_keep_their_order_and_models_stand_together(study):
    table = shadow_table(study["rule_means"], made.settings())
    rules = list(made.shadow_of(study)["rule"].unique())
    assert table.shown["rule"].tolist() == rules * 2
    assert list(table.shown.columns) == ["model", "rule", *RULE_QUANTITIES.values()]
    assert np.isfinite(table.numbers["mean"]).all() and "`grpo`" in table.caption
