import table_frames as made

from ict_core.tables.ablation import controls_table, metrics_table

LEVELS = made.levels(
    ("tiny", "ict-10", "average", "pass@1", 0.30, 0.27, 0.33),
    ("tiny", "entropy-10", "average", "pass@1", 0.25, 0.22, 0.28),
    ("tiny", "random-10", "average", "pass@1", 0.28, 0.25, 0.31),
    ("small", "ict-10", "average", "pass@1", 0.40, 0.37, 0.43),
)
TESTS = made.contrasts(
    made.contrast("entropy-10", "ict-10", difference=-0.05, low=-0.07, high=-0.03, verdict="worse"),
    made.contrast("ict-10", "random-10", difference=0.02, low=0.0, high=0.04, verdict="underpowered"),
)


def rows(table):
    return table.shown.set_index(["model", "variant"])


def test_the_difference_is_icts_from_the_variant():
    shown = rows(metrics_table(LEVELS, TESTS))
    of_entropy = shown.loc[("tiny", "entropy-10"), ["seeds", "pass@1", "Δ pass@1", "pass@1 verdict"]].tolist()
    assert of_entropy == ["3", "25.0 ± 3.0", "+5.0 ± 2.0", "better"]  # the contrast was made the other way round
    assert shown.loc[("tiny", "ict-10"), "pass@1 verdict"] == "reference"


def test_what_was_not_run_is_listed():
    table = metrics_table(LEVELS, TESTS)
    shown = rows(table)
    assert shown.loc["tiny"].index.tolist() == [
        "ict-10",
        "entropy-10",
        "kl-10",
        "wasserstein-10",
        "tv-10",
        "probability-10",
    ]
    absent = shown.loc[("tiny", "kl-10")]
    assert absent[["seeds", "pass@1", "Δ pass@1", "pass@4", "Δ pass@4"]].eq("—").all()
    assert absent[["pass@1 verdict", "pass@4 verdict"]].eq("not in this study").all()
    assert shown.loc[("small", "entropy-10"), "pass@1 verdict"] == "not run on this model"
    assert "Not in this study: `kl-10`, `wasserstein-10`, `tv-10` and `probability-10`." in table.caption
    assert "0 of 1" not in table.caption and "1 of 1 comparisons is resolved" in table.caption


def test_controls():
    shown = rows(controls_table(LEVELS, TESTS))
    assert shown.loc["tiny"].index.tolist() == ["ict-10", "random-10", "frequent-90", "random-reward", "null"]
    assert shown.loc[("tiny", "random-10"), ["Δ pass@1", "pass@1 verdict"]].tolist() == ["+2.0 ± 2.0", "underpowered"]
    assert shown.loc[("small", "random-reward"), "pass@4 verdict"] == "not in this study"


def test_a_pair_without_a_contrast_is_said_to_be_so():
    table = controls_table(LEVELS, made.contrasts())
    assert rows(table).loc[("tiny", "random-10"), "pass@1 verdict"] == "not compared"
    assert "The study makes no such comparison." in table.caption


def test_a_study_without_ict_has_levels_only():
    levels = LEVELS[LEVELS["variant"] != "ict-10"]
    shown = rows(metrics_table(levels, made.contrasts()))
    assert shown.loc[("tiny", "ict-10"), "pass@1 verdict"] == "not in this study"
    assert shown.loc[("tiny", "entropy-10"), ["pass@1", "Δ pass@1"]].tolist() == ["25.0 ± 3.0", "—"]
    assert metrics_table(levels, made.contrasts()).numbers["seeds"].isna().sum() == 6 + 5
