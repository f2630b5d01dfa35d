"""Recall and precision of known forks: pooled over tokens within a run, then over the runs."""

import pandas as pd
import pytest
import table_frames as made

from ict_core.evidence._measures import fork_means, of_tokens, pooled
from ict_core.tables.forks import forks_table

NAN = float("nan")


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


def test_a_methods_own_tokens_are_counted_like_a_rules():
    tokens = pd.DataFrame({"fork": [1.0, 1.0, 0.0, 0.0, 0.0], "kept": [True, False, True, True, False]})
    assert of_tokens(tokens) == pytest.approx({"recall": 1 / 2, "kept": 3 / 5, "precision": 1 / 3, "forks": 2 / 5})


def test_first_last_and_all_of_the_shared_rollouts_and_of_each_methods_own():
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
    numbers = forks_table(fork_means(shadow, tokens, "grpo"), made.settings(["grpo", "ict-10"])).numbers
    assert numbers[["rollouts", "rule"]].drop_duplicates().to_numpy().tolist() == [
        ["grpo", "grpo"],
        ["grpo", "ict-10"],
        ["own", "grpo"],
        ["own", "ict-10"],
    ]
    recall = numbers[numbers["measure"] == "recall"].set_index(["rollouts", "rule", "when"])
    assert recall.loc[("grpo", "ict-10"), "mean"].tolist() == [0.0, 1.0, 0.5]
    assert recall.loc[("grpo", "ict-10"), "seeds"].tolist() == [2, 2, 2]
    assert recall.loc[("own", "ict-10"), "mean"].tolist() == [0.5, 1.0, 0.75]  # step 0 is its warm-up
    chance = numbers[(numbers["when"] == "all") & (numbers["rollouts"] == "own")].set_index(["rule", "measure"])["mean"]
    assert chance["grpo", "kept"] == chance["grpo", "forks"] == 0.1 and chance["ict-10", "kept"] == 0.125


@pytest.mark.slow
def test_the_readable_table_has_chance_beside_recall_and_precision(study):
    shadow, cells = made.shadow_of(study), made.cells_of(study["scores"])
    table = forks_table(fork_means(shadow, made.tokens(cells), "grpo"), made.settings())
    assert list(table.shown.columns) == [
        *("model", "rollouts", "rule"),
        *("kept %", "recall first", "recall last", "recall all"),
        *("forks %", "precision first", "precision last", "precision all"),
    ]
    own = table.shown[table.shown["rollouts"] == "own"]
    assert set(own["rule"]) == set(made.settings().variants) and len(own) == 2 * len(made.settings().variants)
    assert set(own["recall all"]) == {"50.0 ± —"} and "`grpo`" in table.caption


@pytest.mark.slow
def test_problems_without_known_forks_have_a_sentence(study):
    tokens = made.tokens(made.cells_of(study["scores"])).assign(fork=NAN)
    table = forks_table(fork_means(made.shadow_of(study).assign(forks=NAN), tokens, "grpo"), made.settings())
    assert table.shown.empty and table.numbers.empty and table.caption.startswith("No decision points are known")
