import pandas as pd
import table_frames as made

from ict_core.statistics import STABILITY, VALIDITY
from ict_core.tables.stability import stability_table

ROWS = [
    ("gain", "contradicted", 20, 3, 500, 0.25, 0.74, 0.01),
    ("gain", "contradicted", 20, 6, 500, 0.9, 0.1, 0.0),
    ("none", "not resolved", 20, 3, 500, 0.98, 0.02, 0.0),
    ("none", "not resolved", 20, 6, 500, 0.97, 0.03, 0.0),
]
NO_GATES = pd.DataFrame(columns=list(VALIDITY))


def test_a_row_a_claim_and_a_column_a_size_by_hand():
    table = stability_table(pd.DataFrame(ROWS, columns=list(STABILITY)), NO_GATES, made.settings())
    assert table.shown.values.tolist() == [
        ["gain", "contradicted", "25.0 / 1.0", "90.0 / 0.0"],
        ["none", "not resolved", "98.0 / 0.0", "97.0 / 0.0"],
    ]
    assert list(table.shown.columns) == ["claim", "verdict", "3 seeds", "6 seeds"]
    assert "3, 6 of the 20 seeds" in table.caption and "at most 500" in table.caption


def test_a_study_of_few_seeds_says_so():
    table = stability_table(pd.DataFrame(columns=list(STABILITY)), NO_GATES, made.settings())
    assert table.shown.empty and "too few seeds" in table.caption
