import json

import pandas as pd
import pytest
import table_frames as made

from ict_core.errors import UserError
from ict_core.tables.paper import paper_table, read_paper

LEVELS = made.levels(
    ("tiny", "base", "average", "pass@1", 0.10, 0.08, 0.12),
    ("tiny", "ict-10", "average", "pass@1", 0.30, 0.27, 0.33),
    ("tiny", "ict-10", "mini-word", "pass@4", 0.70, 0.60, 0.80),
    ("tiny", "ict-10", "mini-stem", "pass@4", 0.99, 0.98, 1.00),
)
GOOD = {
    "source": "a paper",
    "averages": [
        {
            "size": "1B",
            "model": "Some-1B",
            "named": ["tiny"],
            "rows": [{"variant": "ict-10", "pass_at_1": 40.0, "pass_at_4": 60.0, "total": 50.0}],
        }
    ],
    "ablation": {
        "size": "1B",
        "benchmark": "GSM8K",
        "rows": [{"variant": "ict-10", "pass_at_1": 1.0, "pass_at_4": None, "total": None}],
    },
}


def written(tmp_path, **changes):
    path = tmp_path / "paper.yaml"
    path.write_text(json.dumps(GOOD | changes))  # JSON is YAML, without aliases
    return path


def shown(levels=LEVELS, **changes):
    return paper_table(levels, made.settings(**changes)).readable.set_index(["benchmark", "metric", "variant"])


def test_the_papers_figures_are_the_ones_transcribed():
    rows = shown()
    sizes = ["0.5B (paper)", "1.5B (paper)", "7B (paper)"]
    assert rows.loc[("average", "pass@4", "ict-10"), sizes].tolist() == ["21.75", "36.53", "58.37"]
    assert rows.loc[("average", "Total", "grpo"), sizes].tolist() == ["14.75", "25.05", "46.28"]
    assert rows.loc[("average", "pass@1", "base"), sizes].tolist() == ["5.65", "16.41", "37.78"]
    assert rows.loc[("GSM8K", "pass@1", "random-10"), sizes].tolist() == ["—", "63.65", "—"]
    assert rows.loc[("GSM8K", "pass@4", "random-10"), sizes].tolist() == ["—"] * 3
    assert len(rows) == 3 * 5 + 2 * 7


def test_the_studys_figures_stand_beside_them():
    rows = shown()["tiny (this study)"]
    assert rows[("average", "pass@1", "ict-10")] == "30.0 ± 3.0"
    assert rows[("average", "pass@1", "grpo")] == "—"
    assert rows[("GSM8K", "pass@4", "ict-10")] == "70.0 ± 10.0"  # of the benchmark that stands in its place


def test_without_a_stand_in_the_ablation_is_the_papers_alone():
    table = paper_table(LEVELS, made.settings(mirrors={"mini-stem": "MMLU-STEM"}))
    rows = table.readable[table.readable["benchmark"] == "GSM8K"]
    assert rows["tiny (this study)"].eq("—").all() and "not in this study" in table.caption


def test_a_study_of_the_papers_models_stands_in_pairs(tmp_path):
    paper = read_paper(written(tmp_path))
    table = paper_table(LEVELS, made.settings(paper=paper))
    assert list(table.readable.columns)[3:] == ["1B (paper)", "tiny (this study)"]
    assert "beside its own" in table.caption and "not the mean" not in table.caption
    other = made.levels(("other", "ict-10", "average", "pass@1", 0.5, 0.4, 0.6))
    mixed = paper_table(pd.concat([LEVELS, other]), made.settings(paper=paper))
    assert "nothing is paired" in mixed.caption  # one foreign model ends the pairs


def test_the_csv_holds_shares_with_their_source():
    numbers = paper_table(LEVELS, made.settings()).numbers
    row = numbers.query("source == 'paper' and model == '7B' and variant == 'ict-10' and metric == 'total'")
    assert row["mean"].tolist() == [pytest.approx(0.5068)] and row["low"].isna().all()
    assert set(numbers.loc[numbers["source"] == "this study", "benchmark"]) == {"average", "GSM8K"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": ""}, "source: '' is not allowed"),
        ({"ablation": GOOD["ablation"] | {"size": "3B"}}, "ablation.size: '3B' is not allowed; allowed: one of 1B"),
        ({"ablation": GOOD["ablation"] | {"rows": GOOD["ablation"]["rows"] * 2}}, "ablation.rows: .*ict-10"),
        ({"averages": [GOOD["averages"][0] | {"extra": 1}]}, r"averages\[0\].extra: unknown key"),
        ({"averages": []}, "averages: .* is not allowed"),
        (
            {"ablation": GOOD["ablation"] | {"rows": [GOOD["ablation"]["rows"][0] | {"pass_at_1": 101.0}]}},
            r"ablation.rows\[0\].pass_at_1: 101.0 is not allowed",
        ),
    ],
)
def test_a_wrong_file_is_refused_by_key(changes, message, tmp_path):
    with pytest.raises(UserError, match=message):
        read_paper(written(tmp_path, **changes))
