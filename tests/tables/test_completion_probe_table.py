"""The table of the completion probe."""

import pandas as pd

from ict_core.store.records import COMPLETION_PROBE
from ict_core.tables.completion_probe import completion_probe_table


def test_means_of_every_model_benchmark_and_percentage():
    rows = [("aime", "p", 40, False, 0.25), ("aime", "p", 60, True, 1.0)]
    rows += [("words", f"p{i}", 40, i == 0, i / 4) for i in range(4)]
    rows += [("words", f"p{i}", 60, False, 0.5) for i in range(4)]
    small = pd.DataFrame(rows, columns=list(COMPLETION_PROBE))
    table = completion_probe_table({"tiny": small, "small": small[2:]}, {"words": 0, "aime": 0})
    columns = ["model", "benchmark", "problems", "exact, 40 %", "exact, 60 %", "ROUGE-L, 40 %", "ROUGE-L, 60 %"]
    assert table.shown.columns.tolist() == columns
    assert table.shown.to_numpy().tolist() == [
        ["tiny", "words", "4", "25.0", "0.0", "37.5", "50.0"],
        ["tiny", "aime", "1", "0.0", "100.0", "25.0", "100.0"],
        ["small", "words", "4", "25.0", "0.0", "37.5", "50.0"],
    ]
    assert table.numbers.columns.tolist()[:4] == ["model", "benchmark", "percent", "problems"]
