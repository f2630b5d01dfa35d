"""Which variants share a rule, and that a rule keeps of a stored sample what it kept in training."""

import pytest
import torch
from shadow_frames import METHODS, sample

from ict_core.config import load_methods
from ict_core.errors import UserError
from ict_core.selection import distinct_rules
from ict_core.shadow._score import rebuilt
from ict_core.store import GROUP_SCORES, records

RULES = distinct_rules(METHODS)
LOCAL = [
    variant
    for variant, method in METHODS.items()
    if method.parameters().get("scope") in ("sequence", "group") and method.parameters()["score"] != "random"
]


def rule_of(variant):
    method = METHODS[variant]
    return next(r for r in RULES if (r.selector, r.parameters) == (method.selector, method.parameters()))


def test_variants_that_keep_the_same_tokens_are_one_rule_named_after_the_first():
    names = [rule.name for rule in RULES]
    assert rule_of("replica") is rule_of("ict-10-w20") is rule_of("ict-10-g4") is rule_of("ict-10-response")
    assert rule_of("replica").name == "ict-10" and rule_of("random-10-response").name == "random-10"
    assert len(names) == len(set(names)) == 52 and names == [v for v in METHODS if v in names]
    turned = distinct_rules(dict(reversed(METHODS.items())))
    assert "replica" in [rule.name for rule in turned] and len(turned) == len(names)


@pytest.mark.parametrize("variant", LOCAL)
def test_a_rule_of_a_sequence_or_a_group_keeps_of_the_sample_what_it_kept_in_training(variant, tmp_path):
    for seed in range(3):
        records.write_frame(sample(variant, seed), tmp_path / "tokens.parquet", records.TOKENS)
        rows = records.read_frame(tmp_path / "tokens.parquet", records.TOKENS)
        batch = rebuilt(rows)
        assert rule_of(variant).weights(batch, 0)[batch.mask].tolist() == rows["kept"].tolist()
        assert 0 < rows["kept"].mean() < 1


@pytest.mark.parametrize("variant", ["grpo", "entropy-20", "stapo-h80", "ict-10-by-batch"])
def test_a_rule_of_the_batch_does_so_where_the_whole_batch_is_in_the_sample(variant):
    rows = sample(variant, 1, groups=4)
    batch = rebuilt(rows)
    assert rule_of(variant).weights(batch, 0)[batch.mask].tolist() == rows["kept"].tolist()
    assert rows["kept"].all() == (variant == "grpo")


def test_rebuilding_gives_the_very_tensors_back_whatever_the_order_of_the_rows():
    rows = sample("ict-10", 0)
    batch, turned = rebuilt(rows), rebuilt(rows[::-1])
    assert batch.statistics.group_size == 4 and batch.mask.sum() == len(rows)
    assert torch.equal(batch.mask, turned.mask) and torch.equal(batch.advantages, turned.advantages)
    for name in ("h1", "h2", *GROUP_SCORES):
        assert batch.statistics.score(name)[batch.mask].tolist() == rows[name].tolist()
        assert torch.equal(batch.statistics.score(name), turned.statistics.score(name))
    of_rollouts = rows.groupby(["group", "rollout"])["advantage"].first()
    assert batch.advantages.tolist() == of_rollouts.tolist()


def test_the_score_is_what_the_rule_ranks_by():
    batch = rebuilt(sample("ict-10", 0))
    for rule in RULES:
        score, kept = rule.score(batch, 7), rule.weights(batch, 7)
        if rule.selector not in ("top-score", "high-entropy"):
            assert score is None
            continue
        size = {"sequence": 1, "padded": 1, "group": 4, "batch": 8}[rule.parameters.get("scope", "batch")]
        for scores, on, live in zip(*(x.split(size) for x in (score, kept, batch.mask)), strict=True):
            dropped = scores[live & ~on]
            assert not len(dropped) or not on.any() or scores[on].min() >= dropped.max()


def test_random_draws_depend_on_the_seed():
    batch, random = rebuilt(sample("random-10", 0)), rule_of("random-10")
    assert torch.equal(random.weights(batch, 1), random.weights(batch, 1))
    assert not torch.equal(random.weights(batch, 1), random.weights(batch, 2))


def test_a_folder_without_methods_is_refused(tmp_path):
    with pytest.raises(UserError, match="no methods"):
        load_methods(tmp_path)
    (tmp_path / "odd.yaml").write_text("selector: top-scroe\n")
    with pytest.raises(UserError, match="top-score"):
        load_methods(tmp_path)
