"""What the figures of the rules on the same rollouts draw."""

import figure_frames
import numpy as np
import pandas as pd
import pytest
import synthetic

from ict_core.figures import forks, overlap
from ict_core.figures.panels import style


@pytest.fixture(scope="module")
def shadow():
    return figure_frames.shadow()


@pytest.fixture(scope="module")
def pairs():
    return figure_frames.overlap()


def draw_forks(shadow, rules, baselines=synthetic.BASELINES):
    return forks.draw(shadow, rules, baselines)


def test_a_rule_has_its_recall_above_its_precision_with_what_chance_has_in_grey(shadow):
    figure = draw_forks(shadow, ["grpo", "ict-10"])
    titled = {a.get_title(): a for a in figure.axes}
    recall, precision = titled["ICT 10 %"], figure.axes[3]
    of_rule = shadow.query("variant == 'grpo' and rule == 'ict-10' and model == 'small'")
    for axis, column, chance in ((recall, "fork_recall", 10.0), (precision, "fork_precision", 5.0)):
        lines = [x for x in axis.lines if x.get_color() == style("ict-10").colour]
        grey = [x for x in axis.lines if x.get_color() == forks.CHANCE]
        assert len(lines) == len(grey) == 2  # models
        assert np.allclose(lines[1].get_ydata(), 100 * of_rule.groupby("step")[column].mean())
        assert np.allclose(grey[1].get_ydata(), chance)
        band = axis.collections[1].get_paths()[0].vertices
        at = 100 * of_rule.loc[of_rule["step"] == 10, column]
        assert np.allclose(sorted(set(band[band[:, 0] == 10][:, 1])), sorted({at.min(), at.max()}))


def test_every_model_is_drawn_however_many_they_are(shadow):
    one = shadow[shadow["model"] == "tiny"]
    figure = draw_forks(pd.concat(one.assign(model=f"m{i}") for i in range(6)), ["ict-10"])
    assert [text.get_text() for text in figure.legends[0].get_texts()][:-1] == [f"m{i} (3 seeds)" for i in range(6)]
    assert len([x for x in figure.axes[0].lines if x.get_color() == style("ict-10").colour]) == 6


def test_the_rollouts_are_those_of_the_first_baseline(shadow):
    other = shadow.assign(fork_recall=shadow["fork_recall"].where(shadow["variant"] != "stapo", 0.77))
    axis = draw_forks(other, ["ict-10"], ["stapo", "grpo"]).axes[0]
    assert all(set(x.get_ydata().round(6)) == {77.0} for x in axis.lines if x.get_color() == style("ict-10").colour)


def test_problems_without_known_forks_have_a_sentence(shadow):
    figure = draw_forks(shadow.assign(forks=float("nan")), ["ict-10"])
    assert "No decision points" in figure.axes[0].texts[0].get_text()
    figure = draw_forks(shadow.assign(forks=0.0), ["ict-10"])
    assert "none of the known" in figure.axes[0].texts[0].get_text()


def test_a_matrix_is_the_mean_over_steps_and_seeds(pairs):
    rules = ["ict-10", "grpo", "entropy-20"]  # in another order than in the frame
    rows = pairs[pairs["model"] == "tiny"]
    found = overlap.matrix(rows, rules, "jaccard")
    expected = rows.query("rule == 'entropy-20' and other == 'ict-10'")["jaccard"].mean()
    assert found[0, 2] == found[2, 0] == pytest.approx(expected)
    assert np.isnan(np.diag(found)).all() and np.isfinite(found[0, 1])
    assert np.isnan(overlap.matrix(rows, rules, "rank_correlation")[0, 1])  # GRPO ranks no tokens


def test_kept_sets_stand_above_the_diagonal_and_ranks_below(pairs):
    figure = overlap.draw(pairs, ["grpo", "entropy-20", "ict-10"])
    axis = figure.axes[0]
    words = {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in axis.texts}
    rows = pairs.query("model == 'tiny' and rule == 'entropy-20' and other == 'ict-10'")
    assert words[1, 2] == f"{rows['jaccard'].mean():.2f}".removeprefix("0")
    assert words[2, 1].replace("−", "-") == f"{rows['rank_correlation'].mean():.2f}".replace("0.", ".")
    assert words[1, 0] == "–" and len(words) == 6
    assert [t.get_text() for t in axis.get_xticklabels()] == ["GRPO", "20-Entropy", "ICT 10 %"]


def test_one_rule_has_none_to_agree_with(pairs):
    for rows in (pairs, pairs[:0]):
        assert "one rule" in overlap.draw(rows, ["grpo"]).axes[0].texts[0].get_text()
