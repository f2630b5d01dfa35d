"""The readings of the paper on distributions: by hand, against float64 definitions, and what must hold of all."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from ict_core.selection.base import TokenBatch
from ict_core.selection.registry import selector
from ict_core.shadow.readings import FIGURES, KEPT, SCOPES, crossing, kept_tokens, token_readings
from ict_core.statistics.elbow import elbow
from ict_core.statistics.intervals import over_runs
from ict_core.store import records
from ict_core.store.token_scores import READING_REFERENCES
from ict_core.tokens.streaming import Head, TokenStatistics, token_statistics

ALL = dict.fromkeys(FIGURES, (0.0, 1.0))
LN2 = math.log(2)


def group(*rollouts, drawn=None, unigram=None):
    """Readings of rollouts given as lists of distributions; the likeliest token was drawn unless it is said."""
    size, length, vocabulary = len(rollouts), max(map(len, rollouts)), len(rollouts[0][0])
    probs = torch.full((size, length, vocabulary), 0.77, dtype=torch.float64)  # what lies outside must not matter
    mask = torch.zeros(size, length, dtype=torch.bool)
    for row, own in enumerate(rollouts):
        probs[row, : len(own)], mask[row, : len(own)] = torch.tensor(own, dtype=torch.float64), True
    ids = probs.argmax(-1) if drawn is None else torch.tensor(drawn)
    flat = torch.full((vocabulary,), 1 / vocabulary, dtype=torch.float64)
    return token_readings(probs, ids, mask, flat if unigram is None else torch.tensor(unigram, dtype=torch.float64))


def test_two_sure_rollouts_that_differ_by_hand():
    """Both begin alike; then one is sure of the first token and one of the second, and the first goes on alone."""
    a, b, c, d = [1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0], [0.5, 0.5, 0, 0]
    rows = group([c, a, d], [c, b], unigram=[1.0, 0, 0, 0])
    assert rows[["rollout", "position"]].to_numpy().tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]]
    assert rows["p"].tolist() == [1, 1, 0.5, 1, 1] and rows["purity"].tolist() == [1, 1, 0.5, 1, 1]
    assert rows["h1"].tolist() == pytest.approx([0, 0, LN2, 0, 0])

    def entropy(*values):
        return -sum(v * math.log(v) for v in values if v)

    half = entropy(0.75, 0.25) - LN2 / 2  # of a sure token and a fair coin that it is one side of
    assert rows["score_position"].tolist() == pytest.approx([0, half, 0, 0, half])
    assert rows["reference_p_position"].tolist() == [1, 0.5, 0.5, 1, 0.5]
    assert rows["score_pairwise"].tolist() == pytest.approx([0, LN2, 0, 0, LN2])
    assert rows["reference_p_pairwise"].tolist() == [1, 0, 0.5, 1, 0]
    # at the third position one of two has ended: zeros halve the reference, a uniform one adds an eighth to each token
    assert rows["reference_p_zeros"].tolist() == [1, 0.5, 0.25, 1, 0.5]
    zeros = entropy(0.375, 0.375) - (LN2 + entropy(0.25, 0.25)) / 2
    assert rows["score_zeros"].tolist() == pytest.approx([0, half, zeros, 0, half])
    assert rows["reference_p_padded"].tolist() == [1, 0.5, 0.375, 1, 0.5]
    assert rows["reference_purity_padded"][2] == pytest.approx(2 * 0.375**2 + 2 * 0.125**2)
    assert rows["reference_p_sequence"].tolist() == pytest.approx([1 / 3, 1 / 2, 1 / 2, 1 / 2, 1 / 2])
    assert rows["reference_p_group"].tolist() == pytest.approx([2 / 5, 3 / 10, 3 / 10, 2 / 5, 3 / 10])
    assert rows["score_previous"].tolist() == pytest.approx([0, LN2, half, 0, LN2])
    assert rows["reference_p_previous"].tolist() == [1, 0, 1, 1, 0]
    assert rows["reference_p_unigram"].tolist() == [0, 1, 1, 0, 0]
    assert rows["score_unigram"].tolist() == pytest.approx([LN2, 0, half, LN2, LN2])
    assert rows["reference_purity_uniform"].tolist() == [0.25] * 5
    assert rows["score_top"].tolist() == pytest.approx(rows["score_position"].tolist())  # 20 tokens are all of 4


def test_the_paper_s_score_is_that_of_the_trainings():
    generator = torch.Generator().manual_seed(1)
    logits = 2 * torch.randn(4, 6, 50, generator=generator)
    mask = torch.arange(6) < torch.tensor([6, 4, 3, 5])[:, None]
    ids = torch.randint(50, (4, 6), generator=generator)
    where = torch.arange(24).view(4, 6).masked_fill(~mask, -1)
    options = {"scores": ("js", "js_sequence", "js_group"), "group_size": 4, "temperature": 0.6}
    found = token_statistics(logits.flatten(0, 1), Head(torch.eye(50)), where, ids, **options)
    rows = token_readings(torch.softmax(logits / 0.6, -1), ids, mask, torch.full((50,), 0.02))
    for ours, theirs in {"position": "js", "sequence": "js_sequence", "group": "js_group"}.items():
        assert rows[f"score_{ours}"].tolist() == pytest.approx(found[theirs][mask].tolist(), abs=2e-6)
    assert np.log(rows["p"]).tolist() == pytest.approx(found.logprob[mask].tolist(), abs=1e-4)


def random_tokens(seed, prompts=5, size=3, vocabulary=30):
    """`records.READING_TOKENS` of random groups of unequal lengths, and their distributions in float64."""
    generator = torch.Generator().manual_seed(seed)
    frames, raw = [], []
    for number in range(prompts):
        lengths = torch.randint(3, 30, (size,), generator=generator)
        mask = torch.arange(int(lengths.max())) < lengths[:, None]
        spread = torch.randn(*mask.shape, 1, generator=generator).exp() * 2
        probs = torch.softmax(spread * torch.randn(*mask.shape, vocabulary, generator=generator), -1)
        ids = torch.multinomial(probs.flatten(0, 1), 1, generator=generator).view(mask.shape)
        unigram = torch.softmax(torch.randn(vocabulary, generator=generator), -1)
        for temperature in (0.6, 1.0):
            read = probs.double() ** (1 / temperature)
            read = (read / read.sum(-1, keepdim=True)).float()
            frames.append(token_readings(read, ids, mask, unigram).assign(group=number, temperature=temperature))
            arrays = [x.double().numpy() if x.is_floating_point() else x.numpy() for x in (read, ids, mask, unigram)]
            raw.append((number, temperature, *arrays))
    return pd.concat(frames, ignore_index=True), raw


def js(p, q):
    def entropy(x):
        return -np.sum(x[x > 0] * np.log(x[x > 0]))

    return entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2


def oracle(probs, ids, mask, unigram, rollout, position, reference):
    """Score, P_avg(a) and its beta by the definitions, one token at a time, in float64."""
    p, live = probs[rollout, position], np.flatnonzero(mask[:, position])
    size, vocabulary = len(mask), len(p)
    at = probs[live, position]
    score = None
    if reference == "top":
        cut = []
        for own in at:
            least = np.sort(own)[-20]
            few = np.where(own >= least, own, 0)
            cut.append(few / few.sum())
        p, q = cut[list(live).index(rollout)], np.mean(cut, 0)
    elif reference == "pairwise":
        others = [probs[r, position] for r in live if r != rollout]
        q, score = (np.mean(others, 0), np.mean([js(p, o) for o in others])) if others else (p, 0.0)
    else:
        q = {
            "position": at.mean(0),
            "zeros": at.sum(0) / size,
            "padded": (at.sum(0) + (size - len(live)) / vocabulary) / size,
            "sequence": probs[rollout][mask[rollout]].mean(0),
            "group": probs[mask].mean(0),
            "previous": probs[rollout, max(position - 1, 0)],
            "unigram": unigram,
            "uniform": np.full(vocabulary, 1 / vocabulary),
        }[reference]
    return js(p, q) if score is None else score, q[ids[rollout, position]], np.sum(q**2)


@pytest.mark.parametrize("reference", READING_REFERENCES)
def test_every_reference_against_its_definition_in_float64(reference, made):
    tokens, raw, _ = made
    for number, temperature, probs, ids, mask, unigram in raw[:3]:
        rows = tokens[(tokens["group"] == number) & (tokens["temperature"] == temperature)]
        assert len(rows) == mask.sum()
        names = [f"{column}_{reference}" for column in ("score", "reference_p", "reference_purity")]
        wanted = [
            oracle(probs, ids, mask, unigram, rollout, position, reference)
            for rollout, position in rows[["rollout", "position"]].to_numpy()
        ]
        np.testing.assert_allclose(rows[names].to_numpy(), wanted, atol=3e-6)


@pytest.fixture(scope="module")
def made():
    """Tokens of five prompts, their distributions, and the cells that they give."""
    tokens, raw = random_tokens(0)
    return tokens, raw, crossing(tokens, ALL)


def test_with_zeros_every_token_of_a_lone_rollout_has_the_same_score(made):
    tokens = made[0]
    alone = tokens.groupby(["group", "temperature", "position"])["score_zeros"].transform("size") == 1
    assert alone.sum() > 20 and tokens.loc[alone, "score_zeros"].nunique() == 1


def test_a_cell_by_its_definition(made):
    """The plain reading of the paper and one of another scope, from the tokens alone."""
    tokens = made[0]
    cells = made[2].set_index(["reference", "scope", "quantity", "cut", "temperature"])
    assert len(cells) == 10 * 3 * 4 * 4 * 2 and not cells.index.has_duplicates
    rows = tokens[tokens["temperature"] == 1.0]
    for reference, scope, keys in (("position", "sequence", ["group", "rollout"]), ("zeros", "batch", ["temperature"])):
        kept = pd.concat(
            own.sort_values(f"score_{reference}", ascending=False, kind="stable").head(-(-len(own) // 10))
            for _, own in rows.groupby(keys)
        )
        purity = kept.groupby("group")[f"reference_purity_{reference}"].mean()
        above = (kept["h1"] > np.quantile(rows["h1"], 0.8)).groupby(kept["group"]).mean()
        cell = cells.loc[(reference, scope, "beta of P_avg", "80 % quantile", 1.0)]
        assert cell["kept_share"] == pytest.approx(len(kept) / len(rows)) and cell["tokens"] == len(rows)
        for figure, values in (("probability", purity), ("high_share", above)):
            wanted = over_runs(values.to_numpy())
            limits = cell[[figure, f"{figure}_low", f"{figure}_high"]].tolist()
            assert limits == pytest.approx([float(x) for x in (wanted.mean, wanted.low, wanted.high)], nan_ok=True)
    points = np.arange(1, 101)
    elbows = []
    for _, own in rows.groupby("group"):
        curves = [np.sort(x)[::-1][-(-points * len(x) // 100) - 1] for _, x in own.groupby("rollout")["score_position"]]
        elbows.append(elbow(np.mean(curves, axis=0)))
    cell = cells.loc[("position", "sequence", "p(a)", "median", 1.0)]
    assert cell["elbow"] == pytest.approx(np.nanmean(elbows)) and cell["elbow_prompts"] == np.isfinite(elbows).sum()
    assert cell["median_h1"] == pytest.approx(np.median(rows["h1"]))
    frame = cells.reset_index().assign(set="first")
    assert set(frame.columns) == set(records.READINGS)


def test_half_of_the_kept_are_high_by_their_own_median_whatever_is_kept():
    tokens, _ = random_tokens(5, prompts=1)
    cells = crossing(tokens, ALL)
    assert cells.loc[cells["cut"] == "median of the kept", "high_share"].tolist() == [0.5] * 10 * 3 * 4 * 2
    assert cells["probability_low"].isna().all()  # one prompt has no interval


def test_a_cell_meets_what_all_its_figures_fit_and_an_elbow_that_few_prompts_have_fits_no_range(made):
    tokens, _, whole = made
    assert whole["meets"].all() == (whole["elbow_prompts"] > 2).all() and whole["meets"].any()
    ranges = {figure: (0.0, float(whole[figure].median())) for figure in FIGURES}
    level = tokens.assign(score_position=tokens["score_position"].where(tokens["group"] < 2, 0.3))
    cells = crossing(level, ranges | {"elbow": (0.0, 1.0)})
    others = cells["reference"] != "position"
    assert cells["elbow_prompts"][~others].max() <= 2 and not cells["elbow_fits"][~others].any()
    pd.testing.assert_frame_equal(
        cells.loc[others, ["probability", "elbow"]], whole.loc[others, ["probability", "elbow"]]
    )
    for figure in ("probability", "high_share"):
        low, high = ranges[figure]
        inside = (cells[figure] >= low) & (cells[figure] <= high)
        assert 0 < inside.sum() < len(cells) and (cells[f"{figure}_fits"] == inside).all()
    fits = cells["probability_fits"] & cells["high_share_fits"] & cells["elbow_fits"]
    assert (cells["meets"] == fits).all() and fits.any()


def test_tokens_are_those_that_the_paper_s_rule_keeps():
    generator = torch.Generator().manual_seed(2)
    mask = torch.arange(23) < torch.tensor([23, 11, 1, 20, 7, 19])[:, None]
    score = (torch.rand(6, 23, generator=generator, dtype=torch.float64) * 8).floor()  # with ties
    batch = TokenBatch(TokenStatistics.from_columns({"logprob": score, "js": score}, 3), torch.zeros(6), mask)
    rows = pd.DataFrame({"group": torch.arange(6).repeat_interleave(mask.sum(1)) // 3})
    rows["rollout"] = torch.arange(6).repeat_interleave(mask.sum(1)) % 3
    rows["temperature"] = 1.0
    for scope, columns in SCOPES.items():
        wanted = selector("top-score")(batch, torch.Generator(), score="js", scope=scope, fraction=KEPT, keep="top")
        keys = rows.groupby(columns).ngroup().to_numpy()
        assert kept_tokens(score[mask].numpy(), keys).tolist() == wanted[mask].tolist()
