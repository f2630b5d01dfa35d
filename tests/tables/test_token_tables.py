"""The tables of tokens: rules on the same rollouts, known forks, the paper's statements and its theory."""

import figure_frames
import numpy as np
import pandas as pd
import pytest
import synthetic
import table_frames as made
from one_sample import t_interval

from ict_core.evidence.measures import RULE_QUANTITIES, fork_means, pooled, rule_means
from ict_core.tables.forks import forks_table
from ict_core.tables.shadow import shadow_table
from ict_core.tables.single_logit import single_logit_table
from ict_core.tables.statements import statements_table
from ict_core.tables.token_study import token_classes_table, token_texts_table
from ict_core.tables.update import update_table
from ict_core.theory.update import agreement

NAN = float("nan")
STUDY = {"models": ["tiny"], "variants": ["grpo", "ict-10"], "seeds": (1, 2, 3)}


@pytest.fixture(scope="module")
def tokens():
    return figure_frames.tokens(**STUDY)


@pytest.fixture(scope="module")
def frames(tokens):
    return figure_frames.of_tokens(synthetic.log(**STUDY), tokens)


@pytest.fixture(scope="module")
def update(frames):
    return update_table(frames["agreement_means"], made.settings(["ict-10", "grpo"]))


def text(limits, decimals, factor=1.0):
    """A mean with half its interval, from mean, low and high found in another way."""
    mean, low, high = (factor * limit for limit in limits)
    half = (high - low) / 2
    return f"{mean:.{decimals}f} ± {half:.{decimals}f}".replace("-", "−")


@pytest.mark.slow
def test_statements_are_means_over_the_runs_in_percent(frames, tokens):
    table = statements_table(frames["quantity_means"], made.settings(["ict-10", "grpo"]))
    assert table.readable["variant"].tolist() == ["ict-10", "grpo"]
    kept = tokens.query("variant == 'ict-10' and selecting and kept")
    found = t_interval([np.exp(run["logprob"]).mean() for _, run in kept.groupby("seed")])
    first, second = table.readable.to_dict("records")
    assert first["mean p of kept"] == text(found[:3], 1, 100)
    assert first["H1 over training"].startswith("−") and second["kept above the median H1"].startswith("50.0")
    assert second["|p − beta|, kept less dropped"] == "—"  # it drops none
    row = table.numbers.query("variant == 'ict-10' and quantity == 'probability_of_kept'").iloc[0]
    assert row[["mean", "low", "high", "seeds"]].tolist() == pytest.approx([found.mean, found.low, found.high, 3])


def test_updates_have_a_row_for_kept_and_for_dropped_tokens(update, tokens):
    readable = update.readable
    assert readable[["variant", "set"]].to_numpy().tolist() == [
        ["ict-10", "kept"],
        ["ict-10", "dropped"],
        ["grpo", "kept"],
    ]
    assert readable["as predicted, p > beta"].str.startswith("100.0").all()  # one logit moved, and no other
    assert readable["rank correlation"].str.startswith("1.00").all()
    chosen = tokens.query("variant == 'ict-10' and selecting and not kept")
    each = [1000 * (run["h2_after"] - run["h2"]).mean() for _, run in chosen.groupby("seed")]
    found = t_interval(each)
    assert readable.loc[1, "ΔH2 (mnat)"] == text(found[:3], 2)
    assert readable.loc[1, "tokens"].startswith(f"{len(chosen) / 3:.0f}")


def test_a_share_stands_beside_what_chance_gives(update, tokens):
    values = agreement(tokens).query("variant == 'grpo' and set == 'kept' and regime == 'p > beta'")
    share, chance = (values.loc[values["measure"] == m, "value"] for m in ("statement", "statement_chance"))
    found = t_interval(share)
    assert update.readable.loc[2, "as stated, p > beta"] == f"{text(found[:3], 1, 100)} ({100 * chance.mean():.1f})"


@pytest.mark.slow
def test_the_single_logit_has_a_row_a_source_regime_and_direction(frames):
    table = single_logit_table(frames["single_logit"], made.settings())
    readable = table.readable
    assert readable.groupby(["states", "tokens"])["logit"].apply(list).map(lambda x: x == ["raised", "lowered"]).all()
    tiny = readable[readable["states"] == "tiny"].set_index(["tokens", "logit"])
    assert tiny.loc[("p < beta", "lowered"), "same sign at 4"] == tiny.loc[("p > beta", "raised"), "same sign at 4"]
    assert tiny.loc[("p < beta", "lowered"), "same sign at 4"] == "100.0"  # right at every step
    row = table.numbers.query(
        "states == 'tiny' and regime == 'p < beta' and shift == 2 and measure == 'same_sign'"
    ).iloc[0]
    assert tiny.loc[("p < beta", "raised"), "same sign at 2"] == text(row[["mean", "low", "high"]], 1, 100)
    errors = table.numbers.query("states == 'tiny' and regime == 'p > 1/e' and shift == -0.5").set_index("measure")[
        "mean"
    ]
    both = f"{100 * errors['error_median']:.1f} ({100 * errors['error_p95']:.1f})"
    assert tiny.loc[("p > 1/e", "lowered"), "error at 0.5"] == both


def two_runs(**more):
    """ICT 10 % on GRPO's rollouts, two steps of two runs, and on its own."""
    values = [(1, 0, 0.1), (1, 10, 0.3), (2, 0, 0.4), (2, 10, NAN)]
    rows = [made.shadow_row(rule="ict-10", seed=s, step=t, gradient_share=x, **more) for s, t, x in values]
    return pd.DataFrame([*rows, made.shadow_row(rule="ict-10", variant="ict-10", gradient_share=0.9)])


def test_steps_are_averaged_within_a_run_and_runs_have_an_interval():
    table = shadow_table(rule_means(two_runs(), "grpo"), made.settings())
    numbers = table.numbers.set_index("quantity")
    assert list(numbers.index) == list(RULE_QUANTITIES) and set(numbers["rollouts"]) == {"grpo"}
    expected = t_interval([0.2, 0.4])
    found = numbers.loc["gradient_share"]
    assert (found["mean"], found["low"], found["high"], found["seeds"]) == pytest.approx(
        (expected.mean, expected.low, expected.high, 2)
    )
    assert list(table.readable.columns) == ["model", "rule", *RULE_QUANTITIES.values()]


def test_steps_are_pooled_by_their_tokens():
    # kept and a fork: 1 token of 10, 1 of 30, none of 10
    steps = pd.DataFrame(
        [
            made.shadow_row(tokens=10, kept_share=0.2, forks=4.0, fork_recall=0.25, fork_precision=0.5),
            made.shadow_row(tokens=30, kept_share=0.1, forks=1.0, fork_recall=1.0, fork_precision=1 / 3),
            made.shadow_row(tokens=10, kept_share=0.0, forks=0.0, fork_recall=NAN, fork_precision=NAN),
        ]
    )
    assert pooled(steps) == pytest.approx({"recall": 2 / 5, "kept": 5 / 50, "precision": 2 / 5, "forks": 5 / 50})
    assert all(pd.isna(pooled(steps[2:])[name]) for name in ("recall", "precision"))


def test_first_last_and_all_forks_of_the_shared_rollouts_and_of_each_methods_own():
    shadow = pd.DataFrame(
        [
            made.shadow_row(rule=rule, seed=seed, step=step, fork_recall=recall, fork_precision=recall)
            for rule in ("grpo", "ict-10")
            for seed in (1, 2)
            for step, recall in ((0, 0.0), (10, 0.5), (20, 1.0))
        ]
        + [made.shadow_row(rule="ict-10", variant="ict-10", fork_recall=0.9)]
    )
    tokens = made.tokens([("tiny", "grpo", 1), ("tiny", "ict-10", 1)])
    late = (tokens["variant"] == "ict-10") & (tokens["step"] == 20) & (tokens["position"] == 1)
    tokens.loc[late, "kept"] = True  # both forks, at the last step
    settings = made.settings(["grpo", "ict-10"])
    table = forks_table(fork_means(shadow, tokens, "grpo"), settings)
    numbers = table.numbers
    recall = numbers[numbers["measure"] == "recall"].set_index(["rollouts", "rule", "when"])
    assert recall.loc[("grpo", "ict-10"), "mean"].tolist() == [0.0, 1.0, 0.5]
    assert recall.loc[("grpo", "ict-10"), "seeds"].tolist() == [2, 2, 2]
    assert recall.loc[("own", "ict-10"), "mean"].tolist() == [0.5, 1.0, 0.75]  # step 0 is its warm-up
    chance = numbers[(numbers["when"] == "all") & (numbers["rollouts"] == "own")].set_index(["rule", "measure"])["mean"]
    assert chance["grpo", "kept"] == chance["grpo", "forks"] == 0.1 and chance["ict-10", "kept"] == 0.125
    assert list(table.readable.columns) == [
        *("model", "rollouts", "rule"),
        *("kept %", "recall first", "recall last", "recall all"),
        *("forks %", "precision first", "precision last", "precision all"),
    ]
    pairs = [["grpo", "grpo"], ["grpo", "ict-10"], ["own", "grpo"], ["own", "ict-10"]]
    assert table.readable[["rollouts", "rule"]].to_numpy().tolist() == pairs
    none = forks_table(fork_means(shadow.assign(forks=NAN), tokens.assign(fork=NAN), "grpo"), settings)
    assert none.readable.empty and none.caption.startswith("No decision points")


def texts(kind, *rows):
    """Rows of `records.TOKEN_TEXTS` of a rule that keeps a tenth of all tokens."""
    shares = [
        (model, "ict-10", kind, text, tokens, 5, share, low, high) for model, text, tokens, share, low, high in rows
    ]
    columns = ["model", "rule", "kind", "text", "tokens", "prompts", "share", "low", "high"]
    frame = pd.DataFrame(shares, columns=columns)
    return frame.assign(lift=frame["share"] / 0.1)


def test_a_word_that_a_rule_never_keeps_is_below_chance():
    words = [("m", "box", 162, 0.0, 0.0, 0.03), ("m", "so", 90, 0.3, 0.2, 0.4), ("m", "the", 50, 0.1, 0.05, 0.2)]
    row = token_texts_table(texts("token", *words), ["ict-10"]).readable.iloc[0]
    assert row["above / below chance"] == "1 / 1" and row["drops most"].startswith("`box` 0.0 (0.0–0.3)")


def test_classes_of_two_models_have_shares_of_all_their_tokens():
    rows = [(model, name, tokens, 0.1, 0.05, 0.2) for model in "ab" for name, tokens in (("number", 30), ("sign", 10))]
    assert "number 75" in token_classes_table(texts("class", *rows), ["ict-10"]).caption
