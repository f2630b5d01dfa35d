import pandas as pd
import pytest
import synthetic
import table_frames as made

from ict_core.errors import UserError
from ict_core.statistics import both_ways, shown_variants
from ict_core.tables._frames import in_order, restricted


def test_restricted_to_the_variants_and_base(study):
    small = restricted(study, ["grpo", "ict-10"])
    assert set(small["levels"]["variant"]) == set(small["scores"]["variant"]) == {"base", "grpo", "ict-10"}
    pairs = small["contrasts"][["variant", "baseline"]].drop_duplicates().to_numpy().tolist()
    assert pairs == [["ict-10", "grpo"]]
    assert len(restricted(study, synthetic.VARIANTS)["contrasts"]) == len(study["contrasts"])


def test_a_variant_without_a_level_is_named(study):
    with pytest.raises(UserError, match="no row of kl-10; run its cells"):
        restricted(study, ["grpo", "kl-10"])


def test_base_goes_first_named_or_not(study):
    for variants in (["stapo", "grpo"], ["stapo", "base", "grpo"]):
        assert shown_variants(study["levels"], "tiny", variants) == ["base", "stapo", "grpo"]
    assert shown_variants(study["levels"][study["levels"]["variant"] != "grpo"], "tiny", ["grpo"]) == ["base"]


def test_rows_in_a_given_order():
    frame = pd.DataFrame({"a": ["y", "x", "z", "x"], "b": [1, 2, 3, 1]})
    assert in_order(frame, a=["x", "y"], b=[1, 2]).to_numpy().tolist() == [["x", 1], ["x", 2], ["y", 1], ["z", 3]]
    assert in_order(frame, a=["y", "x", "y"])["a"].tolist() == ["y", "x", "x", "z"]


def test_a_pair_is_found_from_both_sides():
    row = made.contrast("ict-10", "grpo", difference=0.03, low=0.01, high=0.06, p_adjusted=0.01, verdict="better")
    pairs = both_ways(made.contrasts(row)).set_index("variant")
    assert pairs.loc["ict-10", ["difference", "low", "high", "verdict"]].tolist() == [0.03, 0.01, 0.06, "better"]
    assert pairs.loc["grpo", ["difference", "low", "high", "verdict"]].tolist() == [-0.03, -0.06, -0.01, "worse"]
    assert pairs["p_adjusted"].tolist() == [0.01, 0.01]


def test_single_benchmarks_are_no_pair():
    assert both_ways(made.contrasts(made.contrast("a", "b", benchmark="mini-word"))).empty
