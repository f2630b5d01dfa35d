"""The table that says whether a study can tell."""

import pandas as pd
import table_frames as made

from ict_core.statistics import STABILITY, VALIDITY
from ict_core.tables import value_text
from ict_core.tables.stability import stability_table
from ict_core.tables.validity import validity_table

NAN = float("nan")
ROWS = pd.DataFrame(
    [
        ("gain", "tiny", "grpo − base, pass@1", "", 0.136, 0.112, 0.159, NAN, 6, "at least 15", "failed", "too little"),
        ("kept", "tiny", "share", "", 0.314, 0.25, 0.39, NAN, 6, "at least 0.7", "passed", ""),
        (
            "replica",
            "",
            "grpo-replica − grpo",
            "",
            NAN,
            NAN,
            NAN,
            NAN,
            0,
            "within",
            "not measured",
            "without grpo-replica",
        ),
        ("oracle", "tiny", "o − p", "", 0.105, 0.062, 0.148, 0.0014, 6, "above 0", "passed", ""),
        ("rate", "tiny", "learning rate of ict-10", "", 1e-4, NAN, NAN, NAN, 2, "", "the lowest tried", ""),
        ("detectable", "all", "family", "", 0.037, 0.031, 0.05, NAN, 6, "", "power", ""),
    ],
    columns=list(VALIDITY),
)


def test_points_ratios_and_rates_are_printed_as_what_they_are():
    shown = validity_table(ROWS, made.settings()).shown
    assert shown["value"].tolist() == [
        "13.6 [11.2 to 15.9]",
        "0.31 [0.25 to 0.39]",
        "—",
        "10.5 [6.2 to 14.8]",
        "0.0001",
        "3.7 (3.1 to 5.0)",
    ]
    assert shown["p"].tolist() == ["—", "—", "—", "0.001", "—", "—"]
    assert shown["model"].tolist()[2] == shown["seeds"].tolist()[2] == "—"
    assert value_text("gain", -0.02, NAN, NAN) == "−2.0"


def test_a_study_without_gates_says_that_nothing_was_measured():
    empty = validity_table(pd.DataFrame(columns=list(VALIDITY)), made.settings())
    assert empty.shown.empty and empty.numbers.empty and "not measured" in empty.caption


def test_stability_says_that_claims_are_left_out_where_a_gate_failed():
    rows = pd.DataFrame([("a", "supported", 20, 3, 500, 0.98, 0.02, 0.0)], columns=list(STABILITY))
    told = [stability_table(rows, validity, made.settings()).caption for validity in (ROWS, ROWS[1:])]
    assert "not testable" in told[0] and "not testable" not in told[1]
