"""The tables of the paper's statements and of its theory."""

import figure_frames
import numpy as np
import pytest
import synthetic
import table_frames as made
from one_sample import t_interval

from ict_core.tables._layout import number, with_half
from ict_core.tables.single_logit import single_logit_table
from ict_core.tables.statements import statements_table
from ict_core.tables.update import update_table
from ict_core.theory import agreement

STUDY = {"models": ["tiny"], "variants": ["grpo", "ict-10"], "seeds": (1, 2, 3)}


@pytest.fixture(scope="module")
def tokens():
    return figure_frames.tokens(**STUDY)


def frames(tokens):
    return figure_frames.of_tokens(synthetic.log(**STUDY), tokens)


@pytest.fixture(scope="module")
def update(tokens):
    return update_table(frames(tokens)["agreement_means"], made.settings(["ict-10", "grpo"]))


def test_a_mean_with_half_its_interval():
    assert with_half((0.5, 0.4, 0.6), 1, 100) == "50.0 ± 10.0"
    assert (
        with_half((-0.5, np.nan, np.nan), 2) == "−0.50" and with_half((0.5, 0.4, 0.6), 1, signed=True) == "+0.5 ± 0.1"
    )
    assert with_half((np.nan, np.nan, np.nan), 1) == "—"


@pytest.mark.slow
def test_statements_are_means_over_the_runs_in_percent(tokens):
    table = statements_table(frames(tokens)["quantity_means"], made.settings(["ict-10", "grpo"]))
    assert table.shown["variant"].tolist() == ["ict-10", "grpo"]
    kept = tokens.query("variant == 'ict-10' and selecting and kept")
    found = t_interval([np.exp(run["logprob"]).mean() for _, run in kept.groupby("seed")])
    first, second = table.shown.to_dict("records")
    assert first["mean p of kept"] == with_half((found.mean, found.low, found.high), 1, 100)
    assert first["H1 over training"].startswith("−") and second["kept above the median H1"].startswith("50.0")
    assert second["|p − beta|, kept less dropped"] == "—"  # it drops none
    row = table.numbers.query("variant == 'ict-10' and quantity == 'probability_of_kept'").iloc[0]
    assert row[["mean", "low", "high", "seeds"]].tolist() == pytest.approx([found.mean, found.low, found.high, 3])


def test_updates_have_a_row_for_kept_and_for_dropped_tokens(update, tokens):
    shown = update.shown
    assert shown[["variant", "set"]].to_numpy().tolist() == [
        ["ict-10", "kept"],
        ["ict-10", "dropped"],
        ["grpo", "kept"],
    ]
    assert shown["as predicted, p > beta"].str.startswith("100.0").all()  # one logit moved, and no other
    assert shown["rank correlation"].str.startswith("1.00").all()
    chosen = tokens.query("variant == 'ict-10' and selecting and not kept")
    each = [1000 * (run["h2_after"] - run["h2"]).mean() for _, run in chosen.groupby("seed")]
    found = t_interval(each)
    assert shown.loc[1, "ΔH2 (mnat)"] == with_half((found.mean, found.low, found.high), 2)
    assert shown.loc[1, "tokens"].startswith(number(len(chosen) / 3, 0))


def test_a_share_stands_beside_what_chance_gives(update, tokens):
    values = agreement(tokens).query("variant == 'grpo' and set == 'kept' and regime == 'p > beta'")
    share, chance = (values.loc[values["measure"] == m, "value"] for m in ("statement", "statement_chance"))
    found = t_interval(share)
    text = f"{with_half((found.mean, found.low, found.high), 1, 100)} ({number(100 * chance.mean(), 1)})"
    assert update.shown.loc[2, "as stated, p > beta"] == text


@pytest.mark.slow
def test_without_a_state_after_an_update_the_table_says_so(tokens):
    none = update_table(frames(tokens.assign(logprob_after=np.nan))["agreement_means"], made.settings(["grpo"]))
    assert none.shown.empty and none.caption.startswith("No token was sampled before and after")


@pytest.mark.slow
def test_the_single_logit_has_a_row_a_source_regime_and_direction(tokens):
    table = single_logit_table(frames(tokens)["single_logit"], made.settings())
    shown = table.shown
    assert shown.groupby(["states", "tokens"])["logit"].apply(list).map(lambda x: x == ["raised", "lowered"]).all()
    tiny = shown[shown["states"] == "tiny"].set_index(["tokens", "logit"])
    assert tiny.loc[("p < beta", "lowered"), "same sign at 4"] == tiny.loc[("p > beta", "raised"), "same sign at 4"]
    assert tiny.loc[("p < beta", "lowered"), "same sign at 4"] == "100.0"  # right at every step
    row = table.numbers.query(
        "states == 'tiny' and regime == 'p < beta' and shift == 2 and measure == 'same_sign'"
    ).iloc[0]
    assert tiny.loc[("p < beta", "raised"), "same sign at 2"] == with_half(row[["mean", "low", "high"]], 1, 100)
    errors = table.numbers.query("states == 'tiny' and regime == 'p > 1/e' and shift == -0.5").set_index("measure")[
        "mean"
    ]
    both = (number(100 * errors[name], 1) for name in ("error_median", "error_p95"))
    assert tiny.loc[("p > 1/e", "lowered"), "error at 0.5"] == "{} ({})".format(*both)
