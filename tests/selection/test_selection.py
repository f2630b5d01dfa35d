"""Every rule by hand, and the properties that the method specification states."""

from decimal import Decimal
from fractions import Fraction
from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ict_core.commands.cli import main
from ict_core.config.method_files import load_methods
from ict_core.config.selectors import method_schema
from ict_core.errors import UserError
from ict_core.selection import registry
from ict_core.selection.base import TokenBatch, distinct_rules, quantile_of, top_fraction
from ict_core.selection.registry import rule_files, selector
from ict_core.store import layout
from ict_core.store.token_scores import GROUP_SCORES, UNSAMPLED_SCORES
from ict_core.tokens.streaming import TokenStatistics

PARAMETERS = {
    "top-score": {"score": "js", "scope": "sequence", "fraction": Fraction(1, 10), "keep": "top"},
    "high-entropy": {"fraction": Fraction(1, 5)},
    "stapo": {"tau_p": 0.002, "tau_h": 0.2},
}
METHODS = load_methods(layout.METHODS)
RULES = distinct_rules(METHODS)


def statistics(h1, *, logprob=None, js=None) -> TokenStatistics:
    h1 = torch.as_tensor(h1, dtype=torch.float32)
    zeros = torch.zeros_like(h1)
    columns = {"logprob": logprob, "h1": h1, "h2": None, "js": js}
    return TokenStatistics.from_columns({k: zeros if v is None else v for k, v in columns.items()}, group_size=1)


def random_batch(seed: int, rows: int = 6, length: int = 23):
    g = torch.Generator().manual_seed(seed)
    draw = [torch.rand(rows, length, generator=g) for _ in range(3)]
    mask = torch.arange(length) < torch.randint(1, length + 1, (rows, 1), generator=g)
    logprob = (draw[0] * 0.01).log() * mask
    columns = {"logprob": logprob, "h1": draw[1] * mask, "h2": draw[2] * mask}
    columns |= {name: torch.rand(rows, length, generator=g) * mask for name in (*GROUP_SCORES, *UNSAMPLED_SCORES)}
    tokens = TokenStatistics.from_columns(columns, group_size=3)
    return tokens, torch.randn(rows, generator=g), mask


def select(name: str, tokens, advantages, mask, seed: int = 0, **parameters):
    generator = torch.Generator().manual_seed(seed)
    return selector(name)(TokenBatch(tokens, advantages, mask), generator, **(PARAMETERS[name] | parameters))


def test_every_selector_of_the_configuration_has_its_rule():
    sections = get_args(get_args(method_schema())[0])
    named = {get_args(section.model_fields["selector"].annotation)[0] for section in sections}
    assert named == set(rule_files()) >= set(PARAMETERS)


def test_a_selector_without_a_file_is_told_with_those_that_have_one():
    with pytest.raises(UserError, match=r"selector: 'unheard-of' has no file in .*selection; allowed: .*grpo, "):
        selector("unheard-of")


def test_a_rule_without_its_function_is_told_before_a_training(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(registry, "__file__", str(tmp_path / "registry.py"))
    (tmp_path / "grpo.py").write_text("def grpo_of(batch): ...\n# def grpo(batch): ...\n")
    assert main(["check", "--files", "configs/studies/smoke.yaml"]) == 2
    assert f"'grpo': {tmp_path}/grpo.py defines no function grpo" in capsys.readouterr().err


def test_a_rule_says_what_it_ranks_tokens_by():
    batch = TokenBatch(*random_batch(3))
    scores = {rule.name: rule.score(batch, 7) for rule in RULES}
    assert scores["grpo"] is None and scores["stapo"] is None
    assert torch.equal(scores["ict-10"], batch.statistics["js"])
    assert torch.equal(scores["entropy-20"], batch.statistics.h1)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_nothing_outside_the_response_is_kept_and_a_repeat_is_equal(rule):
    for seed in range(4):
        tokens, advantages, mask = random_batch(seed)
        ids = torch.zeros_like(mask, dtype=torch.int64)
        batch = TokenBatch(tokens, advantages, mask, ids, decisions=tokens.h1 > 0.5)
        weights = rule.weights(batch, seed)
        assert weights.dtype in (torch.bool, torch.float32) and (weights >= 0).all()
        assert not weights[~mask].any()
        assert torch.equal(weights, rule.weights(batch, seed))
    none = torch.zeros_like(mask)
    weights = rule.weights(TokenBatch(tokens, advantages, none, none.long()), seed=0)
    assert weights.shape == mask.shape and not weights.any()  # in a batch without a response token


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), percent=st.integers(1, 100))
@pytest.mark.parametrize("score", ["js", "random"])
@pytest.mark.parametrize(("scope", "rows"), [("sequence", 1), ("group", 3), ("batch", 6)])
def test_the_number_kept_is_the_exact_ceiling_of_the_highest(score, scope, rows, seed, percent):
    tokens, advantages, mask = random_batch(seed)
    chosen = {"score": score, "scope": scope, "fraction": Fraction(percent, 100)}
    kept = select("top-score", tokens, advantages, mask, **chosen)
    lengths = mask.view(6 // rows, -1).sum(-1).tolist()
    assert kept.view(6 // rows, -1).sum(-1).tolist() == [-(-percent * length // 100) for length in lengths]
    rest = select("top-score", tokens, advantages, mask, keep="rest", **chosen)
    assert torch.equal(kept ^ rest, mask)
    for js, on, off in zip(*(x.split(rows) for x in (tokens["js"], kept, rest)), strict=True):
        assert score == "random" or not off.any() or js[on].min() >= js[off].max()


@pytest.mark.parametrize(("score", "best"), [("h1", 1), ("h2", 2), ("surprise", 3), ("js", 0), ("kl", 1)])
def test_every_score_ranks_by_its_own_values(score, best):
    row = torch.eye(4)
    columns = {"logprob": (1 - row[3:] / 2).log(), "h1": row[1:2], "h2": row[2:3], "js": row[:1], "kl": row[1:2]}
    tokens = TokenStatistics.from_columns(columns, group_size=1)
    mask = torch.ones(1, 4, dtype=torch.bool)
    kept = select("top-score", tokens, torch.zeros(1), mask, score=score, fraction=Fraction(1, 4))
    assert kept.nonzero().tolist() == [[0, best]]


def test_seven_percent_of_a_hundred_tokens_is_seven_and_ties_go_to_the_earlier_position():
    mask = torch.ones(1, 100, dtype=torch.bool)
    assert top_fraction(torch.arange(100.0)[None], mask, Fraction(7, 100)).sum() == 7
    score = torch.tensor([[1.0, 2.0, 2.0, 2.0, 0.0]])
    mask = torch.tensor([[True, True, True, True, False]])
    assert top_fraction(score, mask, Fraction(1, 2)).tolist() == [[False, True, True, False, False]]
    third = Fraction(Decimal("33.333333333333336")) / 100  # Python's 100 / 3
    assert top_fraction(torch.rand(1, 2300), torch.ones(1, 2300, dtype=torch.bool), third).sum() == 767


def test_high_entropy_has_one_threshold_for_the_batch():
    h1 = torch.tensor([[0.1, 0.2, 0.3], [0.9, 0.8, 0.7]])
    mask = torch.tensor([[True, True, True], [True, True, False]])
    kept = select("high-entropy", statistics(h1), torch.zeros(2), mask, fraction=Fraction(2, 5))
    # of 0.1 0.2 0.3 0.8 0.9 the 60 % quantile is 0.3 + 0.4 * 0.5 = 0.5
    assert kept.tolist() == [[False, False, False], [True, True, False]]


def test_stapo_drops_only_improbable_certain_tokens_of_successes():
    h1 = torch.tensor([[0.0, 0.5, 0.6, 0.7], [0.0, 0.5, 0.6, 0.7]])
    p = torch.tensor([[0.001, 0.001, 0.5, 0.5], [0.001, 0.5, 0.5, 0.5]])
    mask = torch.ones(2, 4, dtype=torch.bool)
    tokens = statistics(h1, logprob=p.log())
    for other in (-1.0, 0.0):  # a response as right as its group's mean is no success
        kept = select("stapo", tokens, torch.tensor([1.0, other]), mask, tau_p=0.002, tau_h=0.3)
        assert kept.tolist() == [[False, True, True, True], [True, True, True, True]]


def test_stapo_keeps_what_lies_at_a_threshold():
    p, h1 = torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[0.0, 0.0, 0.5]])
    mask, logprob = torch.ones(1, 3, dtype=torch.bool), p.log()
    at = logprob.exp()[0, 1].item()

    def kept(tau_p, tau_h):
        return select("stapo", statistics(h1, logprob=logprob), torch.ones(1), mask, tau_p=tau_p, tau_h=tau_h).tolist()

    assert kept(at, 0.9) == [[True, True, True]]  # p = tau_p
    assert kept(at + 1e-6, 0.9) == [[True, False, True]]
    assert kept(0.3, 1.0) == [[True, False, True]]  # H1 of the third is the highest, its 100 % quantile


def test_random_depends_on_the_seed_alone():
    tokens, advantages, mask = random_batch(5)
    other, _, _ = random_batch(6)
    first, others, second = (
        select("top-score", statistics, advantages, mask, seed=seed, score="random")
        for statistics, seed in ((tokens, 1), (other, 1), (tokens, 2))
    )
    assert torch.equal(first, others) and not torch.equal(first, second)


def test_the_quantile_is_torch_s_to_the_bit():
    generator = torch.Generator().manual_seed(0)
    for count in (1, 2, 3, 10, 997, 4096):
        values = torch.rand(count, generator=generator, dtype=torch.float64)
        for q in (0.0, 0.2, 0.5, 0.8, 0.9, 0.95, 1.0, 1 / 3):
            assert torch.equal(quantile_of(values, q), torch.quantile(values, q)), (count, q)


@pytest.mark.long
def test_the_quantile_takes_more_values_than_torch_s():
    assert quantile_of(torch.arange(2**24 + 2).double(), 0.5).item() == (2**24 + 1) / 2
