"""The figures of the token sample: elbow, purity, statements, the theory."""

import numpy as np
import pytest
from figure_frames import drawn

from ict_core.figures import purity, statements
from ict_core.figures.panels import style
from ict_core.statistics import elbow as rule


@pytest.fixture(scope="module")
def tokens(frames):
    return frames["tokens"]


def test_elbow_draws_a_mean_curve_a_variant_and_an_elbow_a_run(frames, tokens):
    axis = drawn("elbow", frames, ["grpo", "ict-10"]).axes[0]
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


def words(figure):
    return " ".join(figure.axes[0].texts[0].get_text().split())


def test_without_a_selecting_step_the_figures_say_so(frames, tokens):
    assert "No tokens were sampled" in words(drawn("elbow", frames | {"curves": frames["curves"][:0]}, ["ict-10"]))
    assert "No tokens were sampled" in words(purity.draw(tokens.assign(selecting=False), ["ict-10"]))


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


def panels(figure):
    return {axis.get_title(): axis for axis in figure.axes}


def marks(axis, variant):
    """The lines with a variant's markers: one a set of runs."""
    return [x for x in axis.lines if x.get_marker() == style(variant).marker]


def test_statements_have_a_dot_a_run_and_a_bar_a_variant(frames, tokens):
    quantities = frames["quantities"]
    figure = drawn("statements", frames | {"quantities": quantities[quantities["model"] == "tiny"]})
    assert list(panels(figure)) == [s.title for s in statements.STATEMENTS.values()]
    axis = panels(figure)["Probability"]
    kept = tokens.query("model == 'tiny' and variant == 'ict-10' and selecting and kept")
    means = 100 * np.exp(kept["logprob"]).groupby(kept["seed"]).mean()
    (runs,) = marks(axis, "ict-10")
    assert np.allclose(runs.get_xdata(), means)
    assert np.allclose(runs.get_ydata(), 2, atol=0.4) and len(set(runs.get_ydata())) == 3
    half = 4.302653 * np.std(means, ddof=1) / np.sqrt(3)  # t of 2 degrees of freedom
    bar = next(x for x in axis.lines if x.get_color() == style("ict-10").colour and x.get_marker() == "None")
    assert np.allclose(bar.get_xdata(), [means.mean() - half, means.mean() + half])
    (paper,) = axis.patches
    assert (paper.get_x(), paper.get_x() + paper.get_width()) == pytest.approx((9, 27))
    assert not marks(panels(figure)["Distance from beta"], "grpo")  # it drops no token


def test_the_single_logit_has_a_line_a_source_that_falls_with_the_step(frames):
    figure = drawn("single_logit", frames, ["ict-10"])
    assert [t.get_text() for t in figure.legends[0].get_texts()][-2:] == ["tiny", "small"]
    axis = panels(figure)["Same sign, π < β (%)"]
    lines = [x for x in axis.lines if len(x.get_xdata()) == 6]
    assert len(lines) == 4 + 2
    for line in lines:
        assert list(line.get_xdata()) == sorted(line.get_xdata())
        assert (np.diff(line.get_ydata()) <= 0).all() and line.get_ydata()[0] > 97 and line.get_ydata()[-1] < 60
