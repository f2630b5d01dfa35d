import pytest
import table_frames as made

from ict_core.config.selectors import section_of
from ict_core.evidence.stored import Stored
from ict_core.store.layout import REPOSITORY
from ict_core.tables.thresholds import thresholds_table


@pytest.mark.parametrize(
    ("study", "absent", "shares"),
    [
        ("rules", {"mastered-99", "nat-50"}, {"ict-10": 10, "random-50": 50}),
        ("mini-ablations", {"ict-10-w20"}, {"ict-50": 50, "frequent-90": 90, "kl-10": 10}),
    ],
)
def test_a_stored_study_tells_the_share_of_the_rules_that_have_one(study, absent, shares):
    stored = Stored(REPOSITORY / "results" / "reference" / study)
    kept = stored.settings.kept
    assert absent <= set(stored.settings.variants) and not absent & set(kept)
    assert {variant: kept[variant] for variant in shares} == shares
    shadow = stored.frame("shadow")
    for variant in set(kept) & set(shadow["rule"]):  # rounded up in a short response
        own = shadow.loc[(shadow["rule"] == variant) & (shadow["variant"] == "grpo"), "kept_share"]
        assert 100 * own.mean() == pytest.approx(kept[variant], abs=3), variant


def test_a_share_that_hangs_on_scores_or_lengths_is_not_told():
    told = section_of("top-score").percent_kept
    assert told({"percent": 20, "scope": "sequence", "threshold": "ties"}) == 20
    assert told({"percent": 20, "threshold": "percentile"}) is told({"percent": 20, "scope": "padded"}) is None


def test_numbers_are_those_of_the_levels_and_contrasts(study):
    numbers = thresholds_table(study["levels"], study["contrasts"], made.settings()).numbers
    reference = numbers[numbers["variant"] == "grpo"]
    assert len(numbers) == 2 * 7 * 2 and reference.index.tolist() == [0, 1, 14, 15]
    assert (reference["percent"] == 100).all() and (reference["verdict"] == "reference").all()
    assert reference[["difference", "difference_low", "difference_high"]].isna().all(axis=None)
    average = study["contrasts"][study["contrasts"]["benchmark"] == "average"]
    tests = average[average["baseline"] == "grpo"].set_index(["model", "variant", "metric"])
    levels = study["levels"][study["levels"]["benchmark"] == "average"].set_index(["model", "variant", "metric"])
    for row in numbers.itertuples():
        key = (row.model, row.variant, row.metric)
        assert (row.mean, row.low, row.high, row.seeds) == tuple(levels.loc[key, ["mean", "low", "high", "seeds"]])
        if row.variant != "grpo":
            assert (row.difference, row.difference_low) == tuple(tests.loc[key, ["difference", "low"]])
            assert (row.p_adjusted, row.verdict) == tuple(tests.loc[key, ["p_adjusted", "verdict"]])


def test_the_reference_is_the_first_baseline_with_the_share_that_it_keeps(study):
    settings = made.settings(baselines=["random-10", "grpo"])
    numbers = thresholds_table(study["levels"], study["contrasts"], settings).numbers
    share = numbers.drop_duplicates("variant").set_index("variant")["percent"]
    reference = numbers[numbers["verdict"] == "reference"]
    assert set(reference["variant"]) == {"random-10"} and share["random-10"] == settings.kept["random-10"] == 10


def test_a_baseline_that_drops_tokens_is_not_said_to_keep_all(study):
    table = thresholds_table(study["levels"], study["contrasts"], made.settings(baselines=["stapo", "grpo"]))
    assert table.numbers.loc[table.numbers["variant"] == "stapo", "percent"].isna().all()
    assert table.readable.loc[table.readable["selector"] == "stapo", "kept %"].tolist() == ["—", "—"]
    assert "every token" not in table.caption
    assert "every token" in thresholds_table(study["levels"], study["contrasts"], made.settings()).caption
