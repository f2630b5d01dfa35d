"""The tables of equal tuning."""

import pandas as pd
import pytest
import table_frames as made

from ict_core.evidence.stored import ArmVariation
from ict_core.store.records import TUNING
from ict_core.tables.rates import rates_table
from ict_core.tables.tuning import tuning_table

TUNED = pd.DataFrame(
    [
        ("tiny", "ict-10", 1e-4, 900, 0.2, True),
        ("tiny", "ict-10", 1e-4, 901, 0.4, True),
        ("tiny", "ict-10", 3e-4, 900, 0.1, False),
        ("tiny", "ict-10", 3e-4, 901, 0.2, False),
        ("tiny", "grpo", 0.0, 900, 0.6, False),
        ("tiny", "grpo", 0.0, 901, 0.6, False),
        ("tiny", "grpo", 1e-4, 900, 0.5, False),
        ("tiny", "grpo", 1e-4, 901, 0.5, False),
        ("tiny", "grpo", 3e-4, 900, 0.6, True),
        ("tiny", "grpo", 3e-4, 901, 0.7, True),
    ],
    columns=list(TUNING),
)
SETTINGS = made.settings(variants=("grpo", "ict-10"), baselines=("grpo",))


def test_the_mean_reward_at_each_rate_and_the_rate_chosen_by_hand():
    table = tuning_table(TUNED, SETTINGS)
    assert table.readable.values.tolist() == [
        ["tiny", "grpo", "0.600", "0.500", "0.650", "0.0003", "the highest tried; gains at no rate"],
        ["tiny", "ict-10", "—", "0.300", "0.150", "0.0001", "the lowest tried"],
    ]
    assert "(900, 901)" in table.caption and len(table.numbers) == len(TUNED)
    of_one_base = tuning_table(
        TUNED, made.settings(variants=("grpo", "ict-10"), baselines=("grpo",), scope="One base.")
    )
    assert "base models" in table.caption and "base models" not in of_one_base.caption


def test_a_mean_over_fewer_seeds_says_so():
    table = tuning_table(TUNED.drop(index=3), SETTINGS)
    row = ["tiny", "ict-10", "—", "0.300", "0.100 (1)", "0.0001", "the lowest tried"]
    assert table.readable.values.tolist()[1] == row
    assert table.caption != tuning_table(TUNED, SETTINGS).caption


def test_a_rate_at_which_a_training_has_no_reward_has_no_mean():
    diverged = TUNED.assign(reward=TUNED["reward"].mask(TUNED.index == 9))
    assert tuning_table(diverged, SETTINGS).readable.values.tolist()[0][4] == "—"


def test_a_rate_tried_on_one_seed_may_gain():
    gains = TUNED.assign(reward=TUNED["reward"] + 0.2 * (TUNED.index == 6)).drop(index=7)
    assert "gains" not in tuning_table(gains, SETTINGS).readable.values.tolist()[0][-1]


def levels(**means):
    rows = [(v.replace("_", "-"), "average", "pass@1", mean, mean - 0.1, mean + 0.1) for v, mean in means.items()]
    return made.levels(*(("tiny", *row) for row in rows))


def contrasts(difference, verdict, variant="ict-10"):
    limits = {"difference": difference, "low": difference - 0.05, "high": difference + 0.05}
    return made.contrasts(made.contrast(variant, "grpo", verdict=verdict, p_adjusted=0.01, **limits))


def test_both_rates_stand_side_by_side_and_another_verdict_is_named():
    own, shared = contrasts(-0.05, "none seen"), contrasts(-0.3, "worse")
    table = rates_table(TUNED, levels(grpo=0.4, ict_10=0.35), own, levels(grpo=0.4, ict_10=0.1), shared, SETTINGS)
    first, second = table.readable[table.readable["metric"] == "pass@1"].to_dict("records")
    assert first["variant"] == "grpo" and first["own verdict"] == first["shared verdict"] == "reference"
    assert second["own rate"] == "0.0001" and second["remark"] == "the lowest tried"
    assert (first["changed"], second["changed"]) == ("—", "another verdict")
    assert (second["own"], second["Δ own"]) == ("35.0 ± 10.0", "−5.0 ± 5.0")
    assert (second["shared"], second["Δ shared"], second["shared verdict"]) == ("10.0 ± 10.0", "−30.0 ± 5.0", "worse")
    assert table.numbers.query("rates == 'shared'")["rate"].unique().tolist() == [SETTINGS.recipe_rate]


def test_a_variant_that_was_not_tuned_shows_the_rate_of_the_one_that_it_varies():
    varied = ArmVariation("ict-10", "score", (("method.score", "js", "kl"),), 50)
    settings = made.settings(variants=("grpo", "kl-10"), baselines=("grpo",), arms={"kl-10": varied})
    frames = levels(grpo=0.4, kl_10=0.4), contrasts(0.0, "none seen", "kl-10")
    table = rates_table(TUNED, *frames, *frames, settings)
    assert table.readable["own rate"].tolist() == ["0.0003", "0.0001"] * 2  # of both metrics
    assert table.readable["remark"].tolist()[1] == "the rate of ict-10; the lowest tried"


@pytest.mark.parametrize("table", [tuning_table, rates_table])
def test_without_a_tuning_the_tables_are_empty_and_say_so(table):
    nothing = [pd.DataFrame(columns=list(columns)) for columns in (TUNING, *[made.LEVELS, made.CONTRASTS] * 2)]
    frames = nothing[:1] if table is tuning_table else nothing
    empty = table(*frames, SETTINGS)
    assert empty.readable.empty and empty.numbers.empty and "no learning rate" in empty.caption
