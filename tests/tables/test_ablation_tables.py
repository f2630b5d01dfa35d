import pytest
import table_frames as made

from ict_core.config.methods import Factor
from ict_core.evidence.stored import ArmVariation
from ict_core.statistics.schemas import FACTORS
from ict_core.tables.ablations import ablations_table

ARMS = {
    "ict-10": ArmVariation("grpo", None, (("method.selector", "grpo", "top-score"),), 40),
    "ict-10-g4": ArmVariation(
        "ict-10", "group_size", (("method.group_size", None, 4), ("training.group_size", 8, 4)), 48
    ),
    "random-10": ArmVariation("ict-10", "score", (("method.score", "js", "random"),), 50),
    "kl-10": ArmVariation("ict-10", "score", (("method.score", "js", "kl"),), 50),
    "grpo-g4": ArmVariation("grpo", "group_size", (("method.group_size", None, 4), ("training.group_size", 8, 4)), 48),
}
LEVELS = made.levels(
    ("tiny", "ict-10", "average", "pass@1", 0.30, 0.27, 0.33),
    ("tiny", "grpo", "average", "pass@1", 0.35, 0.32, 0.38),
    ("tiny", "kl-10", "average", "pass@1", 0.25, 0.22, 0.28),
    ("tiny", "random-10", "average", "pass@1", 0.28, 0.25, 0.31),
    ("tiny", "grpo-g4", "average", "pass@1", 0.34, 0.31, 0.37),
    ("small", "ict-10", "average", "pass@1", 0.40, 0.37, 0.43),
)
TESTS = made.contrasts(
    made.contrast("kl-10", "ict-10", difference=-0.05, low=-0.07, high=-0.03, verdict="worse"),
    made.contrast("kl-10", "grpo", difference=-0.10, low=-0.12, high=-0.08, verdict="worse"),
    made.contrast("ict-10", "random-10", difference=0.02, low=0.0, high=0.04, verdict="better"),
    made.contrast("grpo-g4", "grpo", difference=-0.01, low=-0.03, high=0.01, verdict="none seen"),
)


TABLE = ablations_table(LEVELS, TESTS, made.settings(arms=ARMS))


@pytest.fixture
def shown():
    return TABLE.readable.set_index(["model", "variant"])


def test_every_variant_stands_beside_the_one_it_varies_by_factor(shown):
    assert shown.loc["tiny"].index.tolist() == ["ict-10", "grpo", "random-10", "kl-10", "ict-10-g4", "grpo-g4"]
    kl = shown.loc[("tiny", "kl-10"), ["factor", "change", "reference", "seeds", "pass@1", "Δ pass@1"]].tolist()
    assert kl == ["score", "js → kl", "ict-10", "3", "25.0 ± 3.0", "−5.0 ± 2.0"]
    assert shown.loc[("tiny", "grpo-g4"), ["change", "reference", "Δ pass@1"]].tolist() == [
        "8 → 4",
        "grpo",
        "−1.0 ± 2.0",
    ]
    assert shown.loc[("tiny", "ict-10"), ["change", "pass@1 verdict"]].tolist() == ["", "reference"]
    assert "3 of 3" not in TABLE.caption and "2 of 3 comparisons" in TABLE.caption


def test_the_difference_is_the_variants_whichever_way_it_was_tested(shown):
    assert shown.loc[("tiny", "random-10"), ["Δ pass@1", "pass@1 verdict"]].tolist() == ["−2.0 ± 2.0", "worse"]


def test_what_was_not_run_says_so(shown):
    assert shown.loc[("small", "kl-10"), "pass@1 verdict"].startswith("not run on")
    absent = shown.loc[("tiny", "ict-10-g4")]
    assert absent[["seeds", "pass@1", "Δ pass@1", "pass@4", "Δ pass@4"]].eq("—").all()
    assert absent["pass@1 verdict"] == "not in this study"


def test_a_study_without_ablations_has_an_empty_table():
    for arms in ({}, {"ict-10": ARMS["ict-10"]}):  # whose only variant declares no factor
        assert ablations_table(LEVELS, TESTS, made.settings(arms=arms)).readable.empty


def test_every_factor_has_a_name():
    assert set(FACTORS) == set(Factor.__args__)


def test_a_factor_that_is_a_section_is_told_in_one_text():
    different = (("method.surrogate.kind", "—", "clip"), ("method.surrogate.high", "—", 0.28))
    assert ArmVariation("grpo", "surrogate", different, 50).values() == ("—", "kind clip, high 0.28")
    different = (("method.surrogate.low", 0.2, 0.1), ("method.surrogate.high", 0.28, "—"))
    assert ArmVariation("clip-higher", "surrogate", different, 50).values() == ("low 0.2, high 0.28", "low 0.1")
