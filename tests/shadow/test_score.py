"""That a rule keeps of a stored sample what it kept in training; what kept sets are made of, and their overlap."""

import math
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import spearmanr
from shadow_frames import METHODS, WRITTEN, sample

from ict_core.config.method_files import load_methods
from ict_core.errors import UserError
from ict_core.evidence.measures import kept_weight, pooled, rule_means
from ict_core.selection.base import distinct_rules
from ict_core.shadow.score import composition, overlap, rebuilt, rule_seed, score_step, score_study
from ict_core.stages import shadow_study
from ict_core.store import records
from ict_core.store.token_scores import GROUP_SCORES

RULES = distinct_rules(METHODS)
LOCAL = [
    variant
    for variant, method in METHODS.items()
    if method.parameters().get("scope") in ("sequence", "group") and method.parameters()["score"] != "random"
]
SHARES = ["kept_share", "fork_recall", "surprise_share", "gradient_share"]


def rule_of(variant):
    method = METHODS[variant]
    return next(r for r in RULES if (r.selector, r.parameters) == (method.selector, method.parameters()))


def test_variants_that_keep_the_same_tokens_are_one_rule_named_after_the_first():
    names = [rule.name for rule in RULES]
    assert rule_of("replica") is rule_of("ict-10-w20") is rule_of("ict-10-g4") is rule_of("ict-10-response")
    assert rule_of("replica").name == "ict-10" and rule_of("random-10-response").name == "random-10"
    assert len(names) == len(set(names)) == 52 and names == [v for v in METHODS if v in names]
    some = {variant: METHODS[variant] for variant in ("replica", "ict-10", "ict-20", "random-10")}
    assert [rule.name for rule in distinct_rules(some)] == ["replica", "ict-20", "random-10"]
    own = {variant: WRITTEN[variant] for variant in ("nsr-published", "grpo", "nsr")}  # the first with an advantage
    assert [rule.name for rule in distinct_rules(own)] == ["grpo", "nsr"]
    del own["nsr"]
    assert [rule.name for rule in distinct_rules(own)] == ["grpo", "nsr-published"]


@pytest.mark.parametrize("variant", LOCAL)
def test_a_rule_of_a_sequence_or_a_group_keeps_of_the_sample_what_it_kept_in_training(variant):
    for seed in range(2):
        rows = sample(variant, seed)
        batch = rebuilt(rows)
        assert rule_of(variant).weights(batch, 0)[batch.mask].tolist() == rows["kept"].tolist()
        assert 0 < rows["kept"].mean() < 1


@pytest.mark.parametrize("variant", ["grpo", "entropy-20", "stapo-h80", "ict-10-by-batch"])
def test_a_rule_of_the_batch_does_so_where_the_whole_batch_is_in_the_sample(variant):
    rows = sample(variant, 1, groups=4)
    batch = rebuilt(rows)
    assert rule_of(variant).weights(batch, 0)[batch.mask].tolist() == rows["kept"].tolist()
    assert rows["kept"].all() == (variant == "grpo")


def test_rebuilding_gives_the_very_tensors_back_whatever_the_order_of_the_rows(tmp_path):
    records.write_frame(sample("ict-10", 0), tmp_path / "tokens.parquet", records.TOKENS)
    rows = records.read_frame(tmp_path / "tokens.parquet", records.TOKENS)
    batch, turned = rebuilt(rows), rebuilt(rows[::-1])
    assert batch.statistics.group_size == 4 and batch.mask.sum() == len(rows)
    assert torch.equal(batch.mask, turned.mask) and torch.equal(batch.advantages, turned.advantages)
    for name in ("h1", "h2", *GROUP_SCORES):
        assert batch.statistics.score(name)[batch.mask].tolist() == rows[name].tolist()
        assert torch.equal(batch.statistics.score(name), turned.statistics.score(name))
    assert batch.advantages.tolist() == rows.groupby(["group", "rollout"])["advantage"].first().tolist()


def test_the_score_is_what_the_rule_ranks_by():
    batch = rebuilt(sample("ict-10", 0))
    for rule in RULES:
        score, kept = rule.score(batch, 7), rule.weights(batch, 7)
        permuted = (rule.control or "").startswith("permuted")  # its weights are not where it ranks
        if permuted or rule.selector not in ("top-score", "high-entropy"):
            assert score is None
            continue
        size = {"sequence": 1, "padded": 1, "group": 4, "batch": 8}[rule.parameters.get("scope", "batch")]
        for scores, on, live in zip(*(x.split(size) for x in (score, kept, batch.mask)), strict=True):
            dropped = scores[live & ~on]
            assert not len(dropped) or not on.any() or scores[on].min() >= dropped.max()


def test_random_draws_depend_on_the_seed_and_every_rule_and_step_has_its_own():
    batch, random = rebuilt(sample("random-10", 0)), rule_of("random-10")
    assert not torch.equal(random.weights(batch, 1), random.weights(batch, 2))
    assert len({rule_seed(0, rule, step) for rule in RULES for step in (0, 10)}) == 2 * len(RULES)


def test_a_folder_without_methods_is_refused(tmp_path):
    with pytest.raises(UserError, match="no methods"):
        load_methods(tmp_path)


def rows(**columns) -> pd.DataFrame:
    zero = dict.fromkeys(("step", "group", "rollout", "fork", "h1", "h2", "logprob", "advantage"), 0.0)
    return pd.DataFrame({**zero, **columns})


def test_composition_by_hand():
    frame = rows(
        rollout=[0, 0, 0, 1],
        position=[0, 1, 2, 0],
        fork=[1.0, 0.0, 1.0, 0.0],
        logprob=np.log([0.5, 0.8, 0.9, 0.2]),
        h1=[3.0, 1.0, 2.0, 4.0],
        h2=-np.log([0.5, 0.68, 0.82, 0.3]),
        advantage=[2.0, 2.0, 2.0, -1.0],
    )
    found = composition(frame, np.array([[True, False, False, True], [False] * 4, [True] * 4]))
    norms = [2 * math.sqrt(0.5), 2 * math.sqrt(0.08), 2 * math.sqrt(0.02), math.sqrt(0.9)]
    assert found.iloc[0].to_dict() == pytest.approx(
        {
            "kept_share": 0.5,
            "forks": 2.0,
            "fork_recall": 0.5,
            "fork_precision": 0.5,
            "surprise_share": 1.3 / 1.6,
            "gradient_share": (norms[0] + norms[3]) / sum(norms),
            "positive_share": 0.5,
            "negative_share": 0.5,
            "high_h1_share": 1.0,
            "high_h2_share": 1.0,
            "position": 0.0,
            "probability": 0.35,
            "purity": 0.4,
            "distance": 0.05,
        }
    )
    nothing, whole = found.iloc[1], found.iloc[2]
    assert nothing[SHARES].tolist() == [0, 0, 0, 0]
    assert nothing[["fork_precision", "position", "probability"]].isna().all()
    assert whole[SHARES].tolist() == pytest.approx([1, 1, 1, 1])
    assert whole["position"] == pytest.approx((0 + 0.5 + 1 + 0) / 4) and whole["high_h1_share"] == 0.5


def test_the_kept_weight_of_a_rule_that_weighs_is_the_sum_of_its_weights():
    frame = rows(rollout=0, position=range(4), fork=[1.0, 0.0, 1.0, 0.0])
    weights = np.array([[2.0, 0.0, 0.5, 1.0], [1.0, 0.0, 0.0, 1.0], [0.0, 2.0, 0.0, 1.0]])
    found = composition(frame, weights).assign(tokens=4)
    assert kept_weight(found).tolist() == pytest.approx([3.5, 2.0, 9 / 5])  # without a kept fork the effective number
    weighed = pooled(found.iloc[:1])
    assert weighed == pytest.approx({"recall": 1.25, "kept": 3.5 / 4, "precision": 2.5 / 3.5, "forks": 0.5})


def test_where_there_is_nothing_to_share_there_is_no_share():
    frame = rows(position=range(3), fork=float("nan"), h1=[1.0, 1.0, 2.0])
    found = composition(frame, np.array([[True, False, False]])).iloc[0]
    assert found[["forks", "fork_recall", "fork_precision", "gradient_share", "surprise_share"]].isna().all()
    assert found["high_h1_share"] == 0.5  # at the median
    assert math.isnan(composition(frame.assign(fork=0.0), np.ones((1, 3), bool))["fork_recall"].iloc[0])


def test_the_gradient_is_that_of_the_policy_with_respect_to_the_logits():
    g = torch.Generator().manual_seed(0)
    logits = (2 * torch.randn(6, 9, generator=g, dtype=torch.float64)).requires_grad_()
    drawn, advantage = torch.randint(0, 9, (6,), generator=g), torch.randn(6, generator=g, dtype=torch.float64)
    logprob = torch.log_softmax(logits, -1).gather(1, drawn[:, None]).squeeze(1)
    (advantage * logprob).sum().backward()
    norms = logits.grad.norm(dim=1).numpy()
    h2 = -torch.softmax(logits, -1).square().sum(-1).log()
    columns = {"logprob": logprob.detach(), "h2": h2.detach(), "advantage": advantage}
    frame = rows(position=range(6), **{name: values.numpy() for name, values in columns.items()})
    found = composition(frame, np.eye(6, dtype=bool))["gradient_share"]
    assert found.to_numpy() == pytest.approx(norms / norms.sum())


def test_overlap_is_jaccard_and_spearman():
    rng = np.random.default_rng(0)
    kept = rng.random((3, 40)) < 0.3
    scores = [rng.integers(0, 9, 40).astype(float), rng.random(40), None]
    found = overlap(kept, scores, ["a", "b", "c"])
    assert found[["rule", "other"]].to_numpy().tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]
    sets = [set(np.flatnonzero(row)) for row in kept]
    assert found["jaccard"].tolist() == [len(x & y) / len(x | y) for x, y in combinations(sets, 2)]
    correlation = spearmanr(scores[0], scores[1]).statistic
    assert found["rank_correlation"].tolist() == pytest.approx([correlation, np.nan, np.nan], nan_ok=True)
    empty = overlap(np.zeros((2, 3), bool), [np.zeros(3), np.arange(3.0)], ["a", "b"])
    assert empty[["jaccard", "rank_correlation"]].isna().all(axis=None)


def test_a_step_has_a_row_a_rule_and_a_row_a_pair():
    frame = sample("entropy-10", 3)
    shadow, pairs = score_step(frame, RULES, 5)
    assert shadow["rule"].tolist() == [rule.name for rule in RULES] and (shadow["step"] == 10).all()
    assert len(pairs) == math.comb(len(RULES), 2) and (shadow["tokens"] == len(frame)).all()
    own = shadow.set_index("rule").loc["entropy-10"]
    assert own["kept_share"] == pytest.approx(frame["kept"].mean())
    assert own["fork_recall"] == pytest.approx(frame.loc[frame["fork"] == 1, "kept"].mean())
    assert own["fork_precision"] == pytest.approx(frame.loc[frame["kept"], "fork"].mean())
    of_pair = pairs.set_index(["rule", "other"])
    complement = of_pair.loc[("frequent-90", "ict-10"), ["jaccard", "rank_correlation"]]
    assert complement.tolist() == pytest.approx([0, -1])
    assert of_pair.loc[("ict-10", "ict-20"), "rank_correlation"] == pytest.approx(1)
    again, _ = score_step(frame.sample(frac=1, random_state=0), RULES[::-1], 5)
    pd.testing.assert_frame_equal(again[::-1].reset_index(drop=True), shadow)


def cell(variant, seed, step=10):
    return sample(variant, seed, step=step).assign(model="m", variant=variant, seed=seed, selecting=True)


def test_a_rule_that_reads_true_steps_is_left_out_of_a_study_s_shadow_and_named(tmp_path, capsys, monkeypatch):
    files = [tmp_path / f"{name}.parquet" for name in ("tokens", "shadow", "overlap")]
    records.write_frame(cell("grpo", 0), files[0], records.STUDY_TOKENS)
    methods = {name: WRITTEN[name] for name in ("grpo", "ict-10", "oracle-decisions", "ict-10-mean-all")}
    study = SimpleNamespace(methods=methods, baselines=("grpo",))
    monkeypatch.setattr(shadow_study, "study_to_run", lambda _: study)
    shadow_study.run(Path("a.yaml"), *files)
    assert set(records.read_frame(files[1], records.STUDY_SHADOW)["rule"]) == {"grpo", "ict-10"}
    assert "left out: oracle-decisions, ict-10-mean-all, as" in capsys.readouterr().out
    study.methods = {"grpo": WRITTEN["oracle-decisions"]}  # no rule is left
    shadow_study.run(Path("a.yaml"), *files)
    assert "0 rules on 0 cells\nleft out: grpo, as" in capsys.readouterr().out
    none = records.read_frame(files[1], records.STUDY_SHADOW)
    assert none.empty and rule_means(none, "grpo").empty
    assert records.read_frame(files[2], records.STUDY_OVERLAP).empty


def test_a_study_is_scored_on_all_cells_and_compared_on_the_baseline(tmp_path):
    runs = [("grpo", 0), ("grpo", 1), ("ict-10", 0)]
    parts = [cell(*run, step) for run in runs for step in (0, 10)]
    rules = RULES[:9]
    shadow, pairs = score_study(pd.concat(parts), rules, "grpo")
    records.write_frame(shadow, tmp_path / "shadow.parquet", records.STUDY_SHADOW)
    assert len(shadow) == 3 * 2 * len(rules)
    assert set(pairs["variant"]) == {"grpo"} and len(pairs) == 2 * 2 * math.comb(len(rules), 2)
    last = shadow.query("variant == 'ict-10' and step == 10")[list(records.SHADOW)]
    pd.testing.assert_frame_equal(last.reset_index(drop=True), score_step(parts[-1], rules, 0)[0])
    one, none = score_study(parts[0], rules[:1], "grpo")  # a study of one rule has no pair
    records.write_frame(none, tmp_path / "overlap.parquet", records.STUDY_OVERLAP)
    assert len(one) == 1 and none.empty
