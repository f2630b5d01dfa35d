"""The field's rules, each by hand and against the same rule written for single tokens in float64 from its paper."""

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from statistics import fmean, pvariance
from typing import NamedTuple

import pytest
import torch

from ict_core.config.method_files import load_methods
from ict_core.selection.base import Rule, TokenBatch
from ict_core.selection.registry import selector
from ict_core.store import layout
from ict_core.store.token_scores import UNSAMPLED_SCORES
from ict_core.tokens.streaming import TokenStatistics

METHODS = load_methods(layout.METHODS)
SIZE = 4  # of a group


class Token(NamedTuple):
    """What a rule may know of one response token."""

    row: int
    position: int
    length: int  # of its response
    logprob: float
    h1: float
    advantage: float
    id: int


def batch_of(h1, p, advantages, ids=None, group_size=SIZE) -> TokenBatch:
    """Rows of lists, as long as each response is."""
    longest = max(map(len, h1))
    mask = torch.tensor([[i < len(row) for i in range(longest)] for row in h1])
    padded = [torch.tensor([[*row, *[0.0] * (longest - len(row))] for row in rows]) for rows in (h1, p)]
    columns = {"logprob": padded[1].log().where(mask, 0.0), "h1": padded[0]}
    columns |= dict.fromkeys(("js", *UNSAMPLED_SCORES), (4 * padded[1]).floor() / 4)  # made up, with ties
    tokens = TokenStatistics.from_columns(columns, group_size)
    ids = ids or [[0] * len(row) for row in h1]
    known = torch.tensor([[*row, *[0] * (longest - len(row))] for row in ids])
    decisions = mask & (known == 1)  # made up
    return TokenBatch(tokens, torch.tensor(advantages, dtype=torch.float32), mask, known, decisions=decisions)


def random_batch(seed: int, groups: int = 3, longest: int = 9) -> TokenBatch:
    """Rows of 1 to 9 tokens of a vocabulary of 2, a third of the groups without an advantage."""
    g = torch.Generator().manual_seed(seed)
    rows = groups * SIZE
    lengths = torch.randint(1, longest + 1, (rows,), generator=g).tolist()
    draw = [[torch.rand(length, generator=g).clamp(0.001, 0.999).tolist() for length in lengths] for _ in range(2)]
    ids = [torch.randint(0, 2, (length,), generator=g).tolist() for length in lengths]
    advantages = torch.randn(rows, generator=g)
    advantages[: rows // 3] = 0
    return batch_of([[3 * x for x in row] for row in draw[0]], draw[1], advantages.tolist(), ids)


def tokens_of(batch: TokenBatch) -> list[Token]:
    found = []
    for row, (length, advantage) in enumerate(zip(batch.mask.sum(-1).tolist(), batch.advantages.tolist(), strict=True)):
        for t in range(length):
            values = [batch.statistics[name][row, t].item() for name in ("logprob", "h1")]
            found.append(Token(row, t, length, *values, advantage, batch.token_ids[row, t].item()))
    return found


def weights(variant: str, batch: TokenBatch, seed: int = 0) -> torch.Tensor:
    return Rule.of(variant, METHODS[variant]).weights(batch, seed)


def near(found: torch.Tensor, batch: TokenBatch, wanted: dict[Token, float]) -> None:
    """The weights are these, and 0 outside the responses."""
    assert not found[~batch.mask].any()
    for token, weight in wanted.items():
        assert found[token.row, token.position].item() == pytest.approx(weight, rel=1e-5, abs=1e-6), token


# --- the rules again, for single tokens


def top(tokens: list[Token], score: Callable[[Token], float], number: int) -> set[Token]:
    return set(sorted(tokens, key=lambda t: (-score(t), t.row, t.position))[:number])


def gmts(tokens: list[Token]) -> dict[Token, float]:
    kept = top(tokens, lambda t: t.h1 * abs(t.advantage), math.ceil(len(tokens) / 5))
    return {t: float(t in kept) for t in tokens}


def gmts_code(tokens: list[Token]) -> dict[Token, float]:
    found = {}
    for group in {t.row // SIZE for t in tokens}:
        own = [t for t in tokens if t.row // SIZE == group]
        dropped = top(own, lambda t: -t.h1 * abs(t.advantage) / t.length, math.ceil(Fraction(4, 5) * len(own)))
        found |= {t: float(t not in dropped) for t in own}
    return found


def by_sign(positive: float, negative: float) -> Callable[[list[Token]], dict[Token, float]]:
    return lambda tokens: {t: positive if t.advantage > 0 else negative if t.advantage < 0 else 1.0 for t in tokens}


def rsi(tokens: list[Token]) -> dict[Token, float]:
    return {t: float(0.5 <= -t.logprob / t.h1 <= 2.0) for t in tokens}


def mastered(tokens: list[Token]) -> dict[Token, float]:
    return {t: float(not (t.advantage > 0 and math.exp(t.logprob) >= 0.99)) for t in tokens}


def conflict(tokens: list[Token]) -> dict[Token, float]:
    """By the definition: runs from either end whose every token is in a right and in a wrong response of the group."""
    rows = {t.row: [s for s in tokens if s.row == t.row] for t in tokens}
    found: dict[Token, float] = {}
    for row, own in rows.items():
        group = [rows[r] for r in rows if r // SIZE == row // SIZE]

        def meets(token: Token, at: int, end: bool, sign: int, group=group) -> bool:
            others = [list(reversed(other)) if end else other for other in group]
            return any(len(o) > at and o[at].id == token.id and o[at].advantage * sign > 0 for o in others)

        runs = []
        for end in (False, True):
            run: set[Token] = set()
            for at, token in enumerate(reversed(own) if end else own):
                if token.advantage == 0 or not (meets(token, at, end, 1) and meets(token, at, end, -1)):
                    break
                run.add(token)
            runs.append(run)
        number = max(1, len(runs[0] | runs[1]))
        for token in own:
            each = 2.0 if token.advantage > 0 else 0.0
            found[token] = each ** sum(token in run for run in runs) / number
    return found


def quadrant(sign: int, high: bool) -> Callable[[list[Token]], dict[Token, float]]:
    def rule(tokens: list[Token]) -> dict[Token, float]:
        edge = torch.quantile(torch.tensor([t.h1 for t in tokens]).double(), 0.8).item()
        return {t: float(t.advantage * sign > 0 and (t.h1 >= edge) == high) for t in tokens}

    return rule


def reweighting(tokens: list[Token]) -> dict[Token, float]:
    return {t: 0.2 * math.exp(t.logprob) + 0.8 for t in tokens}


def stare(tokens: list[Token]) -> dict[Token, float]:
    found = dict.fromkeys(tokens, 1.0)
    if fmean(t.h1 for t in tokens) < 0.3:
        for sign, factor in ((1, 1.1), (-1, 0.9)):
            among = [t for t in tokens if t.advantage * sign > 0]
            found |= dict.fromkeys(top(among, lambda t: -t.logprob, math.ceil(Fraction(len(among), 10))), factor)
    return found


def entropy_advantage(tokens: list[Token]) -> dict[Token, float]:
    def shaped(t: Token) -> float:
        return t.advantage + min(0.4 * t.h1, abs(t.advantage) / 2)

    return {t: shaped(t) / t.advantage if t.advantage else 1.0 for t in tokens}


def steer(tokens: list[Token]) -> dict[Token, float]:
    def change(t: Token) -> float:
        p = math.exp(t.logprob)
        return abs(t.advantage / p * p * (1 - p) * (math.log(p) + t.h1))

    rate = -math.log(0.8) / max(0.02, *map(change, tokens))
    return {t: math.exp(-rate * change(t)) for t in tokens}


def cw_grpo(tokens: list[Token]) -> dict[Token, float]:
    mean_p, mean_a = fmean(t.logprob for t in tokens), fmean(t.advantage for t in tokens)
    c = {t: (t.logprob - mean_p) * (t.advantage - mean_a) for t in tokens}
    variance = pvariance(c.values())
    weights = {t: math.exp(-(c[t] ** 2) / (2 * variance)) if variance else 1.0 for t in tokens}
    return {t: weight * len(tokens) / sum(weights.values()) for t, weight in weights.items()}


ORACLES = {
    "cw-grpo": cw_grpo,
    "gmts-20": gmts,
    "gmts-20-code": gmts_code,
    "psr": by_sign(1, 0),
    "nsr": by_sign(0, 1),
    "w-reinforce": by_sign(0.1, 1),
    "rsi-s-middle": rsi,
    "mastered-99": mastered,
    "conflict": conflict,
    "positive-high": quadrant(1, True),
    "positive-low": quadrant(1, False),
    "negative-high": quadrant(-1, True),
    "negative-low": quadrant(-1, False),
    "advantage-reweighting": reweighting,
    "stare-c2": stare,
    "entropy-advantage": entropy_advantage,
    "steer": steer,
}


@pytest.mark.parametrize("certain", [False, True])
@pytest.mark.parametrize("variant", ORACLES)
def test_a_rule_is_its_formula_token_by_token(variant, certain):
    for seed in range(8):
        batch = random_batch(seed)
        if certain:  # low entropies, so that gates open, and sure tokens
            columns = {"logprob": batch.statistics.logprob / 50, "h1": batch.statistics.h1 / 12}
            batch = dataclasses.replace(batch, statistics=TokenStatistics.from_columns(columns, SIZE))
        near(weights(variant, batch).float(), batch, ORACLES[variant](tokens_of(batch)))


# --- by hand


def test_gmts_ranks_by_entropy_times_advantage():
    batch = batch_of([[1.0, 2.0, 3.0], [4.0, 0.1]], [[0.5] * 3, [0.5] * 2], [1.0, -0.5], group_size=2)
    # 1, 2, 3 and 2, 0.05: the one of 5 tokens is the third
    assert weights("gmts-20", batch).tolist() == [[False, False, True], [False, False, False]]
    # by length: 1/3, 2/3, 1 and 1, 0.025: of equal ones the earlier of the last five is dropped
    assert weights("gmts-20-code", batch).sum() == 1


def test_conflict_tokens_by_hand_which_need_ids():
    ids = [[5, 6, 7, 9], [5, 6, 8, 9], [5, 1, 9], [4, 4]]
    batch = batch_of([[1.0] * len(row) for row in ids], [[0.5] * len(row) for row in ids], [1.0, -1.0, 1.0, 0.0], ids)
    # from the start 5 and 6 are in both signs, then 7 and 8 are not; from the end 9 is, then 7, 8 and 1 are not
    wanted = [[2 / 3, 2 / 3, 1 / 3, 2 / 3], [0, 0, 1 / 3, 0], [1, 0.5, 1, 0], [1, 1, 0, 0]]
    assert weights("conflict", batch).tolist() == [pytest.approx(row) for row in wanted]
    both_runs = batch_of([[1.0]] * 2, [[0.5]] * 2, [1.0, -1.0], [[3], [3]], group_size=2)
    assert weights("conflict", both_runs).tolist() == [[4.0], [0.0]]
    with pytest.raises(ValueError, match="token ids"):
        weights("conflict", dataclasses.replace(batch, token_ids=None))


def test_entropy_shaping_raises_praise_and_softens_blame():
    batch = batch_of([[1.0, 10.0], [1.0, 10.0]], [[0.5] * 2] * 2, [1.0, -1.0], group_size=2)
    found = weights("entropy-advantage", batch)
    assert found.tolist() == [pytest.approx([1.4, 1.5]), pytest.approx([0.6, 0.5])]


def test_steer_weighs_the_largest_change_least():
    batch = batch_of([[0.0, 2.0]], [[0.5, 0.5]], [1.0], group_size=1)
    large, small = abs(0.5 * (math.log(0.5) + 2)), abs(0.5 * math.log(0.5))
    assert weights("steer", batch)[0].tolist() == pytest.approx([0.8 ** (small / large), 0.8])
    linear = selector("steer")(batch, torch.Generator(), form="linear", lowest=0.8, highest=1.2)
    assert linear[0].tolist() == pytest.approx([1.2, 0.8])
    alike = batch_of([[1.0, 1.0]], [[0.5, 0.5]], [1.0], group_size=1)
    halfway = selector("steer")(alike, torch.Generator(), form="linear", lowest=0.5, highest=2.0)
    assert halfway[0].tolist() == [1.25, 1.25]
    three = batch_of([[math.log(2), 2.0, math.log(2) + 0.4]], [[0.5] * 3], [1.0], group_size=1)  # |Omega| from 0
    linear = selector("steer")(three, torch.Generator(), form="linear", lowest=0.5, highest=2.0)
    share = 0.4 / (2 - math.log(2))
    assert linear[0].tolist() == pytest.approx([2.0, 0.5, 2.0 - 1.5 * share])


def test_a_token_as_probable_as_tau_is_mastered_unless_the_entropy_has_reached_its_target():
    batch = batch_of([[1.0, 2.0]], [[0.5, 0.4]], [1.0], group_size=1)  # a mean of 1.5 nats
    tau = batch.statistics.logprob[0, 0].exp().item()
    for target, kept in ((1.4, [True, True]), (1.5, [True, True]), (1.6, [False, True]), (None, [False, True])):
        found = selector("mastered")(batch, torch.Generator(), tau=tau, target_entropy=target)
        assert found.tolist() == [kept], target


def test_a_certain_token_has_a_typical_surprisal():
    batch = batch_of([[0.0, 1.0, 1.0]], [[1.0, 0.99, 0.5]], [1.0], group_size=1)
    assert weights("rsi-s-middle", batch).tolist() == [[True, False, True]]


def test_extreme_covariances_count_less_by_hand():
    # ln p less its mean is 1, -1 and A less its mean 1, -1: c = 1, -1, -1, 1, so sigma = 1 and all weigh alike
    batch = batch_of([[1.0] * 2] * 2, [[0.5, 0.5 / math.e**2]] * 2, [1.0, -1.0], group_size=2)
    assert weights("cw-grpo", batch).flatten().tolist() == pytest.approx([1.0] * 4)
    batch = batch_of([[1.0] * 4], [[math.exp(-4), 1.0, 1.0, 1.0]], [1.0], group_size=1)
    assert weights("cw-grpo", batch).flatten().tolist() == [1.0] * 4  # one advantage: every c is 0
    batch = batch_of([[1.0] * 4, [1.0] * 4], [[math.exp(-4), 1.0, 1.0, 1.0]] * 2, [1.0, -1.0], group_size=2)
    # c = -3, 1, 1, 1 and the reverse: sigma^2 = (9 + 3) / 4 = 3
    far, near_zero = math.exp(-9 / 6), math.exp(-1 / 6)
    mean = (far + 3 * near_zero) / 4
    assert weights("cw-grpo", batch)[0].tolist() == pytest.approx([far / mean, *[near_zero / mean] * 3])


def test_lopti_takes_turns_between_improbable_and_probable_tokens():
    batch = batch_of([[1.0] * 3], [[0.3, 0.4, 0.9]], [1.0], group_size=1)
    found = [weights("lopti", dataclasses.replace(batch, update=update)).tolist() for update in range(3)]
    assert found == [[[True, False, False]], [[False, True, True]], [[True, False, False]]]


# --- those that draw


@pytest.mark.parametrize("seed", range(12))
def test_clip_cov_leaves_out_so_many_of_its_candidates(seed):
    batch = random_batch(seed, groups=6)
    rule = {"share": 0.05, "low": 0.5, "high": 5.0}
    kept = selector("clip-cov")(batch, torch.Generator().manual_seed(seed), **rule)
    tokens = tokens_of(batch)
    mean_a, mean_p = fmean(t.advantage for t in tokens), fmean(t.logprob for t in tokens)
    candidates = {t for t in tokens if 0.5 < (t.advantage - mean_a) * (t.logprob - mean_p) < 5.0}
    dropped = {t for t in tokens if not kept[t.row, t.position]}
    assert dropped <= candidates and not kept[~batch.mask].any()
    assert len(dropped) == min(len(candidates), max(1, int(0.05 * len(tokens))))


def test_clip_cov_draws_every_candidate_alike():
    batch = batch_of([[1.0] * 4] * 2, [[0.9, 0.9, 0.05, 0.05], [0.05, 0.05, 0.9, 0.9]], [1.5, -1.5], group_size=2)
    rule = {"share": 0.01, "low": 1.0, "high": 5.0}  # cov = 1.5 (ln p + 1.55): 4 candidates, one of which is left out
    counts = torch.zeros(2, 4)
    for seed in range(400):
        counts += ~selector("clip-cov")(batch, torch.Generator().manual_seed(seed), **rule)
    assert counts.tolist() == [pytest.approx([100, 100, 0, 0], abs=40), pytest.approx([100, 100, 0, 0], abs=40)]


def test_one_over_the_probability_is_unbiased():
    batch = random_batch(5, groups=20, longest=40)
    found = torch.stack([weights("nat-50", batch, seed) for seed in range(200)])
    assert set(found.unique().tolist()) == {0.0, 2.0} and not found[:, ~batch.mask].any()
    assert found[:, batch.mask].mean().item() == pytest.approx(1.0, abs=0.01)


# --- controls


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("variant", [v for v, m in METHODS.items() if m.control and m.control != "mean-one"])
def test_a_permuted_control_has_the_same_weights_in_its_scope(variant, seed):
    method, batch = METHODS[variant], random_batch(seed)
    of = method.model_copy(update={"control": None})
    rule, control = (Rule.of(variant, own).weights(batch, seed) for own in (of, method))
    rows = {"sequence": 1, "group": SIZE, "batch": len(batch.mask)}[method.control.split("-")[1]]
    assert control.dtype == rule.dtype and not control[~batch.mask].any()
    for part in torch.arange(len(batch.mask)).split(rows):
        classes = [torch.ones(len(part), dtype=torch.bool)]
        if method.control.endswith("same-sign"):
            classes = [batch.advantages[part].sign() == sign for sign in (-1, 0, 1)]
        for of in classes:
            own = batch.mask[part] & of.unsqueeze(-1)
            assert control[part][own].sort().values.tolist() == rule[part][own].sort().values.tolist()


def test_a_permutation_draws_every_place_alike():
    batch = batch_of([[3.0, 1.0, 1.0, 1.0, 1.0], [1.0] * 3], [[0.5] * 5, [0.5] * 3], [1.0, 1.0], group_size=2)
    counts = torch.zeros(2, 5)
    for seed in range(800):
        counts += weights("gmts-20-permuted", batch, seed)
    assert counts.sum() == 1600 and counts[batch.mask].tolist() == pytest.approx([200] * 8, abs=60)


@pytest.mark.parametrize("control", ["permuted-group-same-sign", "permuted-batch-same-sign"])
def test_a_permutation_of_one_sign_draws_its_places_alike(control):
    h1 = [[3.0, 3.0, 1.0, 1.0], [3.0, 1.0], [3.0, 1.0], [3.0, 3.0]]
    batch = batch_of(h1, [[0.5] * len(row) for row in h1], [1.0, 1.0, -1.0, 0.0], group_size=4)
    rule = Rule("a fifth", "gmts", {"fraction": Fraction(1, 5), "form": "paper"}, control)
    counts = sum(rule.weights(batch, seed).float() for seed in range(600))
    # by hand: H1 |A| is 3 at the first two tokens and two more; the earlier two are kept, both with A > 0
    assert counts[:2][batch.mask[:2]].tolist() == pytest.approx([200] * 6, abs=50)
    assert counts.sum() == 1200 and not counts[2:].any()


def test_the_control_of_lopti_trains_every_token_once():
    batch = random_batch(3)
    first, second = (weights("lopti-permuted", dataclasses.replace(batch, update=update)) for update in (0, 1))
    assert torch.equal(first ^ second, batch.mask) and not (first & second).any()
    own = weights("lopti", batch)
    assert first.sum(-1).tolist() == own.sum(-1).tolist() and not torch.equal(first, own)


@pytest.mark.parametrize("variant", [v for v, m in METHODS.items() if m.control == "mean-one"])
def test_a_mean_one_control_has_a_mean_of_one(variant):
    method, batch = METHODS[variant], random_batch(7)
    rule = Rule.of(variant, method.model_copy(update={"control": None})).weights(batch, 0)
    control = Rule.of(variant, method).weights(batch, 0)
    assert control[batch.mask].mean().item() == pytest.approx(1.0)
    ratio = (control / rule)[rule > 0]
    assert ratio.tolist() == pytest.approx([ratio[0].item()] * len(ratio))
