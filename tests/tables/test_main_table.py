import table_frames as made

from ict_core.tables.contrasts import contrasts_table
from ict_core.tables.main import main_table

AVERAGE = "average"
LEVEL = made.levels(
    ("tiny", "base", AVERAGE, "pass@1", 0.10, 0.08, 0.12),
    ("tiny", "grpo", AVERAGE, "pass@1", 0.20, 0.17, 0.23),
    ("tiny", "stapo", AVERAGE, "pass@1", 0.21, 0.18, 0.24),
    ("tiny", "ict-10", AVERAGE, "pass@1", 0.30, 0.27, 0.33),
    ("tiny", "ict-10", "mini-word", "pass@1", 0.40, 0.30, 0.50),
)


def shown(*contrasts):
    settings = made.settings(["grpo", "stapo", "ict-10"], ["grpo", "stapo"])
    return main_table(LEVEL, made.contrasts(*contrasts), settings).readable.set_index("variant")


def test_cells_are_levels_with_half_their_interval():
    rows = shown()
    assert rows["average"].tolist() == ["10.0 ± 2.0", "20.0 ± 3.0", "21.0 ± 3.0", "30.0 ± 3.0"]
    assert rows["seeds"].tolist() == ["—", "3", "3", "3"]
    assert rows["mini-word"].tolist() == ["—", "—", "—", "40.0 ± 10.0"]


def test_marks_are_the_verdicts_against_each_baseline():
    rows = shown(
        made.contrast("ict-10", "stapo", verdict="worse", family="exploratory"),
        made.contrast("ict-10", "grpo", verdict="better", family="declared"),
        made.contrast("stapo", "grpo", verdict="equivalent"),
    )
    assert rows[AVERAGE].tolist() == ["10.0 ± 2.0", "20.0 ± 3.0", "21.0 ± 3.0", "30.0 ± 3.0ᵃ⁺⁽ᵇ⁻⁾"]


def test_marks_speak_of_the_average_and_of_the_baselines_only():
    rows = shown(
        made.contrast("ict-10", "grpo", verdict="better", benchmark="mini-word"),
        made.contrast("ict-10", "stapo", verdict="better", metric="pass@4"),
        made.contrast("ict-10", "random-10", verdict="better"),
    )
    assert not rows.apply(lambda column: column.str.contains("⁺|⁻")).any(axis=None)


def test_a_pair_of_a_rule_and_a_later_baseline_is_marked_at_the_rule_whichever_comes_first():
    settings = made.settings(["grpo", "stapo", "ict-10"], ["grpo", "ict-10"])
    contrasts = made.contrasts(
        made.contrast("ict-10", "stapo", verdict="better", family="declared"),
        made.contrast("grpo", "ict-10", verdict="worse", family="declared"),
    )
    rows = main_table(LEVEL, contrasts, settings).readable
    assert rows[AVERAGE].tolist() == ["10.0 ± 2.0", "20.0 ± 3.0", "21.0 ± 3.0ᵇ⁻", "30.0 ± 3.0ᵃ⁺"]


def test_arms_are_identical_if_no_metric_and_no_benchmark_tells_them_apart():
    """`stapo` ties with grpo everywhere, `ict-10` in pass@4 and on the average alone."""
    ties = {("pass@4", AVERAGE), ("pass@4", "mini-word"), ("pass@1", AVERAGE)}
    contrasts = made.contrasts(
        *(
            made.contrast(name, "grpo", metric, benchmark=place, verdict="identical" if tied else "none seen")
            for metric in ("pass@1", "pass@4")
            for place in (AVERAGE, "mini-word")
            for name, tied in (("ict-10", (metric, place) in ties), ("stapo", True))
        )
    )
    settings = made.settings(["grpo", "stapo", "ict-10"], ["grpo", "stapo"])
    levels = LEVEL.assign(gain=0.1, gain_low=0.0, gain_high=0.2)
    for table in (main_table(levels, contrasts, settings), contrasts_table(contrasts, levels, settings)):
        assert "run: `stapo` and `grpo` on tiny." in table.caption
    others = contrasts[contrasts["variant"] != "stapo"]
    assert "Identical in" not in main_table(levels, others, settings).caption
