import table_frames as made

from ict_core.statistics.schemas import GAIN
from ict_core.tables.contrasts import contrasts_table

LEVELS = made.levels(("tiny", "ict-10", "average", "total", 0.3, 0.2, 0.4)).assign(
    gain=0.1, gain_low=0.08, gain_high=0.12
)
SETTINGS = made.settings(["grpo", "stapo", "ict-10"], ["grpo", "stapo"])
ROW = made.contrast(
    "ict-10",
    "grpo",
    metric="total",
    family="declared",
    difference=-0.021,
    low=-0.031,
    high=-0.011,
    two_way_low=-0.045,
    two_way_high=0.003,
    sd=0.01,
    correlation=0.654,
    p=0.0123,
    p_t=0.0123,
    p_adjusted=0.0246,
    p_equivalence_adjusted=0.9371,
    detectable=0.0456,
    seeds_needed=12.0,
    seeds_needed_seen=1234.0,
    verdict="worse",
)


def test_a_row_by_hand():
    shown = contrasts_table(made.contrasts(ROW), LEVELS, SETTINGS).readable
    assert shown.iloc[0].to_dict() == {
        "family": "declared",
        "model": "tiny",
        "metric": "Total",
        "variant": "ict-10",
        "baseline": "grpo",
        "difference": "−2.1 ± 1.0",
        "Δ base": "+10.0 ± 2.0",
        "two-way interval": "−4.5 to +0.3",
        "test": "paired t",
        "p": "0.012",
        "adjusted p": "0.025",
        "adjusted p (equivalent)": "0.937",
        "r": "0.65",
        "detectable": "4.6",
        "seeds": "3",
        "seeds needed": "12",
        "for what was seen": ">1000",
        "verdict": "worse",
    }


def test_declared_rows_come_first_and_single_benchmarks_are_in_the_csv_alone():
    rows = [
        made.contrast("stapo", "grpo"),
        made.contrast("ict-10", "stapo", benchmark="mini-word"),
        made.contrast("ict-10", "grpo", metric="pass@4", family="declared"),
        made.contrast("ict-10", "grpo"),
    ]
    table = contrasts_table(made.contrasts(*rows), LEVELS, SETTINGS)
    key = ["family", "metric", "variant", "baseline"]
    assert table.readable[key].to_numpy().tolist() == [
        ["declared", "pass@4", "ict-10", "grpo"],
        ["exploratory", "pass@1", "stapo", "grpo"],
        ["exploratory", "pass@1", "ict-10", "grpo"],
    ]
    assert len(table.numbers) == 4 and list(table.numbers.columns) == [*made.CONTRASTS, *GAIN]
