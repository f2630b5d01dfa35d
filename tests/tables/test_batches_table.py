import math

import pandas as pd
import table_frames as made

from ict_core.statistics import BATCHES
from ict_core.tables.batches import batches_table

NAN = math.nan
ROWS = [
    ("mini-s", "grpo", "grpo", "grpo", 32, 48, "pass@1", 8000.4, 6, 0.41, 0.38, 0.44, 1.0, NAN, NAN),
    ("mini-s", "ict-10", "ict-10-8x48", "grpo-8x48", 8, 48, "pass@1", 201.2, 6, 0.02, -0.01, 0.05, 0.125, -0.05, 0.3),
]


def test_a_row_a_rule_and_batch_by_hand():
    table = batches_table(pd.DataFrame(ROWS, columns=list(BATCHES)), made.settings())
    assert table.shown.values.tolist() == [
        ["mini-s", "pass@1", "grpo", "32 × 48", "8,000", "+41.0 ± 3.0", "—"],
        ["mini-s", "pass@1", "ict-10", "8 × 48", "201", "+2.0 ± 3.0", "0.12 [−0.05, 0.30]"],
    ]
    assert list(table.numbers.columns) == list(BATCHES)


def test_a_study_that_varies_no_batch_says_so():
    table = batches_table(pd.DataFrame(columns=list(BATCHES)), made.settings())
    assert table.shown.empty and "no variant declares `batch`" in table.caption
