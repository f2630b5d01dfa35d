"""Runs that began with one base model are one observation of what a new base model gives."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from synthetic import MODELS, scores

from ict_core.seeding import generator
from ict_core.statistics import BASE_MODEL, Comparisons, analyse, by_base, over_runs
from ict_core.statistics._levels import base_variance, components


def test_a_frame_has_the_means_of_each_base_model_and_untrained_models_as_they_are():
    rows = [("m", "grpo", seed, value) for seed, value in ((2, 0.5), (3, 1.0), (8, 0.0), (9, 0.5))]
    frame = pd.DataFrame(
        [*rows, ("m", "base", 1, 0.2), ("m", "base", 4, 0.3)], columns=["model", "variant", "seed", "value"]
    )
    means = by_base(frame, 2).set_index(["variant", "seed"])["value"].to_dict()
    assert means == {("grpo", 1): 0.75, ("grpo", 4): 0.25, ("base", 1): 0.2, ("base", 4): 0.3}
    assert all(by_base(frame, alone) is frame for alone in (None, 1))


def test_the_variance_between_base_models_by_hand_and_by_scipy():
    between, within = base_variance(np.array([1.0, 3, 5, 7, 2, 2]), 2)
    assert within == pytest.approx((2 + 2 + 0) / 3)
    assert between == pytest.approx((2 * np.var([2, 6, 2], ddof=1) - 4 / 3) / 2)
    ratio = (2 * between + within) / within
    assert ratio == pytest.approx(stats.f_oneway([1, 3], [5, 7], [2, 2]).statistic)
    assert base_variance(np.array([1.0, 3, 1, 3]), 2) == (0.0, 2.0)
    assert np.isnan(base_variance(np.array([1.0, 3]), 2)).all()


def test_components_tell_base_models_from_seeds():
    """Averages over 400 studies of six base models with four seeds each are the variances that were drawn from."""
    draw = generator(0, "nested")
    contributions = []
    for _ in range(400):
        bases, seeds = draw.normal(0, 0.06, (6, 1, 1)), draw.normal(0, 0.03, (6, 4, 1))
        values = 0.5 + (bases + seeds + draw.normal(0, 0.1, (6, 4, 30))).reshape(24, 30)
        contributions.append(components([values], [float("nan")], 4)[1])
    seed, *_, base = np.mean(contributions, axis=0)
    assert base == pytest.approx(0.06**2 / 6, rel=0.1)
    assert seed == pytest.approx(0.03**2 / 24, rel=0.1)


def test_intervals_over_base_models_cover_new_ones_and_those_over_runs_do_not():
    draw = generator(0, "coverage")
    runs = draw.normal(0, 0.06, (4000, 6, 1)) + draw.normal(0, 0.03, (4000, 6, 4))
    over_bases, naive = over_runs(runs.mean(axis=2)), over_runs(runs.reshape(4000, 24))
    covered = [((i.low <= 0) & (i.high >= 0)).mean() for i in (over_bases, naive)]
    assert 0.94 < covered[0] < 0.96
    assert covered[1] < 0.8


def test_an_analysis_is_over_base_models():
    measured = scores(MODELS[:1], ["grpo", "ict-10"], seeds=range(6))
    trained = measured["variant"] != "base"
    untrained = measured[~trained]
    bases = [untrained.assign(seed=number, correct=untrained["correct"] // (number + 1)) for number in range(3)]
    measured = pd.concat([measured[trained], *bases])
    comparisons = Comparisons(["grpo"], {("ict-10", "grpo", "pass@4"): "baselines"}, [], 0.02, 0.8)
    analysis = analyse(measured, ["grpo", "ict-10"], comparisons, seeds_per_base=2)
    assert set(analysis["levels"]["seeds"]) == {3} and set(analysis["contrasts"]["seeds"]) == {3}
    runs = analysis["runs"].query("benchmark == 'average' and metric == 'pass@4'")
    values = runs[runs["variant"] != "base"].pivot(index="seed", columns="variant", values="value")
    assert len(values) == 6
    gaps = (values["ict-10"] - values["grpo"]).to_numpy().reshape(3, 2).mean(axis=1)
    row = analysis["contrasts"].query("benchmark == 'average' and metric == 'pass@4'").iloc[0]
    assert row["p_t"] == pytest.approx(stats.ttest_1samp(gaps, 0).pvalue)
    bases = runs[runs["variant"] == "base"].sort_values("seed")["value"].to_numpy()
    gains = values["ict-10"].to_numpy().reshape(3, 2).mean(axis=1) - bases
    shown = analysis["levels"].query("benchmark == 'average' and metric == 'pass@4' and variant == 'ict-10'").iloc[0]
    limits = stats.t.interval(0.95, 2, gains.mean(), stats.sem(gains))
    assert shown[["gain", "gain_low", "gain_high"]].tolist() == pytest.approx([gains.mean(), *limits])
    assert BASE_MODEL in set(analysis["components"]["source"])
