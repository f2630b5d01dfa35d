"""The rules prompt by prompt, and the words they keep: hand-computed cases and properties."""

import numpy as np
import pandas as pd
import pytest
from shadow_frames import METHODS
from statsmodels.stats.proportion import proportion_confint

from ict_core.errors import UserError
from ict_core.selection.base import Rule, distinct_rules
from ict_core.shadow.prompts import Prompts
from ict_core.shadow.score import score_step
from ict_core.shadow.texts import FORM_WORDS, kept_shares, shown, text_or_name, token_texts, word_class
from ict_core.statistics.matching import matched_difference
from ict_core.store import records
from ict_core.store.token_scores import POLICY_STATISTICS, STATISTICS

RULES = distinct_rules(METHODS)
FEW = [rule for rule in RULES if rule.name in ("grpo", "ict-10", "entropy-20", "random-10", "stapo", "steer")]
G, T = 4, 12


def tokens(prompts, seed=0):
    """Made-up rows of records.TOKENS: of each prompt 4 rollouts of 5 to 12 tokens."""
    rng, rows = np.random.default_rng(seed), []
    for group in range(prompts):
        for rollout in range(G):
            for position in range(int(rng.integers(5, T + 1))):
                statistics = {name: float(np.float32(rng.random())) for name in STATISTICS}
                statistics |= {"logprob": float(np.float32(-rng.random() * 3))}
                at = {"step": 0, "group": group, "rollout": rollout, "position": position}
                rows.append(at | {"token": int(rng.integers(0, 6))} | statistics)
    after = dict.fromkeys((f"{name}_after" for name in POLICY_STATISTICS), np.nan)
    frame = pd.DataFrame(rows).assign(fork=np.nan, advantage=0.5, kept=True, **after)
    return frame[list(records.TOKENS)]


def test_one_prompt_alone_is_the_step_that_the_shadow_scores():
    rows = tokens(1)
    scored, (shadow, pairs) = Prompts.of(rows, RULES, 3), score_step(rows, RULES, 3)
    found = scored.quantities().pivot(index="variant", columns="quantity", values="value")
    expected = shadow.set_index("rule")
    expected = expected[["kept_share", "probability", "high_h1_share", "surprise_share", "position", "distance"]]
    same = found.reindex(index=expected.index, columns=expected.columns)
    pd.testing.assert_frame_equal(same, expected, rtol=1e-6, check_names=False)
    pd.testing.assert_frame_equal(scored.overlaps()[list(pairs)], pairs)


def test_prompts_have_medians_of_all_tokens_and_shares_of_their_own():
    rows = tokens(3)
    scored = Prompts.of(rows, FEW, 0)
    found = scored.quantities().set_index(["seed", "variant", "quantity"])["value"]
    above = rows["h1"] > rows["h1"].median()
    for group, own in rows.groupby("group"):
        assert found[group, "grpo", "kept_share"] == 1
        assert found[group, "grpo", "high_h1_share"] == pytest.approx(above[own.index].mean())
        kept = scored.weights[[rule.name for rule in FEW].index("ict-10")][own.index] == 1
        distance = (np.exp(own["logprob"]) - np.exp(-own["h2"])).abs()
        apart = distance[kept].mean() - distance[~kept].mean()
        assert found[group, "ict-10", "distance_from_beta"] == pytest.approx(apart)
        matched = matched_difference(distance, kept, own["h1"], np.zeros(len(own)))
        assert found[group, "ict-10", "distance_from_beta_matched"] == pytest.approx(matched)
        assert np.isnan(found[group, "grpo", "distance_from_beta_matched"])
    assert np.isnan(found[0, "grpo", "elbow"]) and 0 < found[0, "ict-10", "elbow"] <= 1


def test_a_rule_that_reads_true_steps_is_refused():
    with pytest.raises(UserError, match=r"oracle\.yaml: selector: 'oracle-decisions'; allowed"):
        Prompts.of(tokens(1), [*RULES, Rule("oracle", "oracle-decisions", {})], 0)
    with pytest.raises(UserError, match=r"zeros\.yaml: reference: .*js_zeros; allowed"):
        Prompts.of(tokens(1), [Rule("zeros", "top-score", {"score": "js_zeros"})], 0)


def test_the_order_of_the_rows_does_not_count():
    rows = tokens(2)
    turned = rows.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(Prompts.of(rows, FEW, 0).quantities(), Prompts.of(turned, FEW, 0).quantities())


@pytest.mark.parametrize(
    ("expected", "pairs"),  # of a text and that of the token before
    [
        ("form word", [(" the", "of"), (" The", "."), ("To", "\n")]),
        ("content word", [(" apples", " five"), ("Solve", ""), ("les", "\n")]),
        ("piece of a word", [("les", " app")]),
        ("number", [(" 1,234.5", "="), ("7", "1")]),
        ("sign", [(" +", "7"), ("\\[", "\n")]),
        ("space or line", [("\n\n", "."), (" ", "7")]),
    ],
)
def test_the_classes_of_words(expected, pairs):
    assert [word_class(*pair, special=False) for pair in pairs] == [expected] * len(pairs)
    assert word_class(*pairs[0], special=True) == "end of the answer"


def test_a_share_s_interval_widens_where_prompts_differ():
    """Equal in every prompt: as many effective tokens as there are. None at all: as many as there are prompts."""
    alike = pd.DataFrame({"text": "x", "group": np.repeat(range(10), 10), "kept": np.tile([True] + [False] * 9, 10)})
    assert kept_shares(alike)[["tokens", "prompts", "share"]].to_numpy().tolist() == [[100, 10, 0.1]]
    spread = sum((10 * (g == 0) - 1.0) ** 2 for g in range(10)) / 100**2 * 10 / 9
    apart = 0.1 * 0.9 / spread
    assert apart == pytest.approx(9)
    for kept, count, effective in ((alike["kept"], 10, 100), (alike["group"] == 0, 0.9, apart), (False, 0, 10)):
        found = kept_shares(alike.assign(kept=kept)).iloc[0]
        expected = proportion_confint(count, effective, method="wilson")
        assert (found["low"], found["high"]) == pytest.approx(expected)


def test_intervals_of_shares_cover_for_new_prompts():
    """Prompts whose shares differ: in 1,000 draws the true share lies within the interval in 92 % or more."""
    rng = np.random.default_rng(0)
    kept = rng.random((1000, 40, 12)) < rng.beta(2, 8, (1000, 40, 1))
    draw, group, _ = np.indices(kept.shape).reshape(3, -1)  # a text for each draw
    found = kept_shares(pd.DataFrame({"text": draw.astype(str), "group": group, "kept": kept.ravel()}))
    assert len(found) == 1000 and 920 <= found["low"].le(0.2).mul(found["high"].ge(0.2)).sum() <= 985


class Letters:
    """A tokenizer of six tokens."""

    def decode(self, ids, **_):
        return [" a", "b", "7", "+", "\n", "", "\ufffd"][ids[0]]

    def convert_ids_to_tokens(self, number):
        return "Ġ\x85é"


def test_every_text_has_its_lift_and_rules_that_keep_all_are_left_out():
    rows = pd.concat([tokens(6, seed=s).assign(group=lambda f, s=s: f["group"] + 6 * s) for s in range(3)])
    rules = [Rule("all", "grpo", {}), *[rule for rule in RULES if rule.name in ("ict-10", "entropy-20")]]
    scored = Prompts.of(rows, rules, 0)
    found = token_texts(scored, Letters(), [5])
    assert set(found["rule"]) == {"ict-10", "entropy-20"} and set(found["kind"]) == {"token", "class"}
    one = found[(found["rule"] == "ict-10") & (found["text"] == "7")].iloc[0]
    at = scored.rows["token"].to_numpy() == 2
    kept = scored.weights[[rule.name for rule in rules].index("ict-10")]
    assert one["share"] == pytest.approx(kept[at].mean())
    assert one["lift"] == pytest.approx(kept[at].mean() / kept.mean())
    classes = found[(found["rule"] == "ict-10") & (found["kind"] == "class")]
    assert classes["tokens"].sum() == len(rows) and (classes["low"] <= classes["share"]).all()
    none = token_texts(Prompts.of(rows, rules[:1], 0), Letters(), [5])
    assert len(none) == 0 and list(none) == list(found)


def test_a_text_is_told_in_signs_that_print():
    assert all(word == word.lower() and word.isalpha() for word in FORM_WORDS)
    assert shown(" a\n\tb") == "·a↵⇥b" and shown("") == "(empty)" and shown("\r\x85") == "⟨000D⟩⟨0085⟩"
    assert text_or_name(Letters(), 2) == "7" and text_or_name(Letters(), 6) == "Ġ\x85é"
