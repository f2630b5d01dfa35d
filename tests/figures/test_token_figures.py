"""The figures of the token sample: elbow, purity, composition."""

import figure_frames
import numpy as np
import pytest
import synthetic

from ict_core.figures import composition, elbow, purity
from ict_core.figures.style import style
from ict_core.statistics import elbow as rule


@pytest.fixture(scope="module")
def tokens():
    return figure_frames.whole_study()["tokens"]


def test_elbow_draws_a_mean_curve_a_variant_and_an_elbow_a_run(tokens):
    axis = elbow.draw(tokens, ["grpo", "ict-10"]).axes[0]
    assert axis.get_title() == "tiny (3 seeds)"
    assert axis.lines[0].get_xdata() == [10.0, 10.0]  # the paper's
    selecting = tokens.query("model == 'tiny' and variant == 'ict-10' and selecting")
    assert selecting["step"].min() == 10 > tokens["step"].min()
    curves = []
    for _, run in selecting.groupby("seed"):
        sequences = run["step"].astype(str) + "-" + run["rollout"].astype(str)
        curves.append(rule.mean_sorted_curve(run["js"], sequences))
    mean = next(x for x in axis.lines if x.get_color() == style("ict-10").colour and x.get_marker() == "None")
    assert np.allclose(mean.get_ydata(), np.mean(curves, axis=0))
    marks = next(x for x in axis.lines if x.get_marker() == style("ict-10").marker)
    assert np.allclose(marks.get_xdata(), [100 * rule.elbow(c) for c in curves])
    assert np.allclose(marks.get_ydata(), [c[round(100 * rule.elbow(c)) - 1] for c in curves])


def test_a_straight_curve_has_no_elbow_to_mark(tokens):
    n = tokens.groupby(["model", "variant", "seed", "step", "rollout"])["js"].transform("size")
    level = tokens.assign(js=np.where(n > 0, 0.3, 0.0))
    axis = elbow.draw(level, ["ict-10"]).axes[0]
    assert not [x for x in axis.lines if x.get_marker() == style("ict-10").marker]


def words(figure):
    return " ".join(figure.axes[0].texts[0].get_text().split())


def test_without_a_selecting_step_the_figures_say_so(tokens):
    warm_up = tokens.assign(selecting=False)
    assert "No tokens were sampled" in words(elbow.draw(warm_up, ["ict-10"]))
    assert "No tokens were sampled" in words(purity.draw(warm_up, ["ict-10"]))
    assert "No token was sampled" in words(composition.draw(warm_up, ["ict-10"]))
    assert "No token was sampled" in words(composition.draw(tokens.assign(kept=False), ["ict-10"]))


def test_purity_counts_every_token_once_in_its_panel(tokens):
    figure = purity.draw(tokens, ["grpo", "ict-10"])
    of_cell = tokens.query("model == 'tiny' and variant == 'ict-10' and selecting")
    kept, dropped = figure.axes[4], figure.axes[5]
    assert figure.axes[0].get_title() == "tiny\nkept" and figure.axes[3].get_title() == "small\ndropped"
    for axis, rows in ((kept, of_cell[of_cell["kept"]]), (dropped, of_cell[~of_cell["kept"]])):
        share = axis.images[0].get_array()
        assert share.sum() == pytest.approx(1.0)
        assert share.min() == pytest.approx(1 / len(rows), rel=5)
        distance = np.abs(np.exp(rows["logprob"]) - np.exp(-rows["h2"])).mean()
        assert f"{len(rows):,}" in axis.texts[0].get_text() and f"{distance:.3f}" in axis.texts[0].get_text()
    assert figure.axes[1].texts[0].get_text() == "none dropped" and not figure.axes[1].images


def test_purity_puts_a_token_at_its_probability_and_purity(tokens):
    one = tokens[tokens["selecting"]].iloc[:1].assign(logprob=np.log(0.33), h2=-np.log(0.62), kept=True)
    image = purity.draw(one, list(one["variant"])).axes[0].images[0]
    row, column = np.argwhere(~np.ma.getmaskarray(image.get_array()))[0]
    assert (column / purity.BINS, row / purity.BINS) == pytest.approx((0.30, 0.60))
    assert image.origin == "lower" and tuple(image.get_extent()) == (0, 1, 0, 1)


def test_composition_has_a_dot_a_run_and_a_bar_a_variant(tokens):
    axis = composition.draw(tokens, synthetic.VARIANTS).axes[0]
    names = [t.get_text() for t in axis.get_yticklabels()]
    assert names[0] == "GRPO (keeps all)" and names[2] == "STAPO (keeps all)" and names[4] == "ICT 10 %"
    shares = composition.shares(tokens[tokens["selecting"]]).query("model == 'tiny' and variant == 'ict-10'")["share"]
    marks = next(x for x in axis.lines if x.get_marker() == style("ict-10").marker)
    assert np.allclose(marks.get_xdata(), 100 * shares)
    assert np.allclose(marks.get_ydata(), 4, atol=0.4) and len(set(marks.get_ydata())) == 3
    bar = [x for x in axis.lines if x.get_color() == style("ict-10").colour and x.get_marker() == "None"]
    half = 4.302653 * np.std(100 * shares, ddof=1) / np.sqrt(3)  # t of 2 degrees of freedom
    assert np.allclose(bar[0].get_xdata(), [100 * shares.mean() - half, 100 * shares.mean() + half])


def test_composition_knows_high_entropy_rules_and_rules_that_keep_all(tokens):
    shares = composition.shares(tokens[tokens["selecting"]]).groupby("variant")
    assert (shares.get_group("entropy-20")["share"] > 0.95).all()
    assert shares.get_group("grpo")["share"].to_numpy() == pytest.approx(0.5)
    assert shares["keeps_all"].all()[["grpo", "stapo"]].all() and not shares["keeps_all"].any()["ict-10"]


def test_a_single_run_has_a_dot_and_no_bar():
    one = figure_frames.tokens(models=["tiny"], variants=["ict-10"], seeds=(1,))
    axis = composition.draw(one, ["ict-10"]).axes[0]
    assert not [x for x in axis.lines if x.get_color() == style("ict-10").colour and x.get_marker() == "None"]
    assert len(next(x for x in axis.lines if x.get_marker() == "D").get_xdata()) == 1
