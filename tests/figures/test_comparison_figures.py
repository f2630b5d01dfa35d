"""The figures of the statistics stage: threshold ablation, forest plot, components of variance."""

import figure_frames
import numpy as np
import pandas as pd
import pytest
import synthetic

from ict_core.errors import UserError
from ict_core.figures import components, forest, stability, thresholds
from ict_core.figures._panels import style
from ict_core.statistics import BASE_MODEL, RERUN


@pytest.fixture(scope="module")
def frames():
    return figure_frames.whole_study()


def dots(axis, variant):
    """The markers of a variant's runs."""
    return [x for x in axis.lines if x.get_marker() == style(variant).marker and x.get_color() == style(variant).colour]


def bars(axis, variant):
    """The intervals of a variant: lines of two points in its colour."""
    same = [x for x in axis.lines if x.get_color() == style(variant).colour and x.get_marker() == "None"]
    return [x for x in same if len(x.get_xdata()) == 2 and x.get_linestyle() == "-"]


def test_thresholds_draw_mean_interval_and_every_run_over_the_percentage(frames):
    figure = thresholds.draw(frames["levels"], frames["runs"], synthetic.VARIANTS, synthetic.KEPT, synthetic.BASELINES)
    assert [a.get_title() for a in figure.axes[:2]] == ["tiny (3 seeds)", "small (3 seeds)"]
    at = "model == 'small' and variant == 'ict-20' and benchmark == 'average' and metric == 'pass@4'"
    axis, level, runs = figure.axes[3], frames["levels"].query(at).iloc[0], frames["runs"].query(at)
    (marks,), (bar,) = dots(axis, "ict-20"), bars(axis, "ict-20")
    assert np.allclose(marks.get_ydata(), 100 * runs["value"])
    assert np.allclose(marks.get_xdata(), 20, rtol=0.1)
    assert np.allclose(bar.get_ydata(), [100 * level["low"], 100 * level["high"]])
    assert bar.get_xdata() == pytest.approx([20, 20])
    assert [t.get_text() for t in axis.get_xticklabels()] == ["5", "10", "20", "30"]
    curve = next(x for x in axis.lines if len(x.get_xdata()) == 4)
    assert curve.get_xdata() == pytest.approx([5, 10, 20, 30])


def test_a_study_without_an_ablation_says_so(frames):
    levels, runs = (
        f[f["variant"].isin(["base", "grpo", "ict-10", "random-10"])] for f in (frames["levels"], frames["runs"])
    )
    figure = thresholds.draw(levels, runs, ["grpo", "ict-10", "random-10"], synthetic.KEPT, synthetic.BASELINES)
    assert "no ablation" in " ".join(figure.axes[0].texts[0].get_text().split())


def test_thresholds_refuse_levels_without_runs_or_without_the_average(frames):
    levels, runs = frames["levels"], frames["runs"]
    with pytest.raises(UserError, match="ict-20"):
        thresholds.draw(levels, runs[runs["variant"] != "ict-20"], ["grpo"], synthetic.KEPT, synthetic.BASELINES)
    with pytest.raises(UserError, match="average"):
        thresholds.draw(levels[levels["benchmark"] != "average"], runs, ["grpo"], synthetic.KEPT, synthetic.BASELINES)


def names(axis):
    return [t.get_text() for t in axis.get_yticklabels()]


def test_the_forest_has_a_line_a_comparison_under_its_model_and_baseline(frames):
    axis = forest.draw(frames["contrasts"], frames["runs"], ["grpo", "stapo", "ict-10"]).axes[0]
    of_model = ["against GRPO", "STAPO", "ICT 10 %", "against 20-Entropy", "STAPO", "ICT 10 %", "against STAPO",
                "ICT 10 %"]  # fmt: skip
    assert names(axis) == ["tiny (3 seeds)", *of_model, "small (3 seeds)", *of_model]
    assert [t.get_text() for t in axis.texts].count("identical") == 2  # STAPO's runs equal GRPO's


def test_the_forest_draws_both_intervals_and_every_pair_of_runs(frames):
    left, axis = forest.draw(frames["contrasts"], frames["runs"], ["grpo", "ict-10"], margin=0.02).axes
    average = "model == 'tiny' and benchmark == 'average' and metric == 'pass@4'"
    row = frames["contrasts"].query(f"{average} and variant == 'ict-10' and baseline == 'grpo'").iloc[0]
    height = names(left).index("ICT 10 %")
    at = [x for x in axis.lines if len(np.atleast_1d(x.get_ydata())) and x.get_ydata()[0] == height]
    thin, thick = sorted((x for x in at if len(x.get_xdata()) == 2), key=lambda x: x.get_linewidth())
    assert np.allclose(thick.get_xdata(), [100 * row["low"], 100 * row["high"]])
    assert np.allclose(thin.get_xdata(), [100 * row["two_way_low"], 100 * row["two_way_high"]])
    runs = frames["runs"].query(average)
    arm = runs.set_index(["variant", "seed"])["value"]
    below = [x for x in axis.lines if height < x.get_ydata()[0] < height + 0.5 and x.get_marker() == "."]
    assert np.allclose(below[0].get_xdata(), 100 * (arm["ict-10"] - arm["grpo"]))
    band = axis.patches[0].get_extents().transformed(axis.transData.inverted())
    assert (band.x0, band.x1) == pytest.approx((-2, 2))
    low, high = axis.get_xlim()
    assert low < min(thick.get_xdata()) and max(thick.get_xdata()) < high


def test_the_forest_marks_declared_comparisons_and_always_shows_them(frames):
    for variants in (["grpo", "ict-10", "ict-20"], ["grpo", "ict-20"]):
        left, right = forest.draw(frames["contrasts"], frames["runs"], variants).axes
        filled = [[x for x in a.lines if x.get_marker() == "D" and x.get_markerfacecolor() != "white"]
                  for a in (left, right)]  # fmt: skip
        assert [len(f) for f in filled] == [0, 2]  # declared on pass@4 alone, in two models
        assert [t.get_weight() for t in right.texts].count("bold") == 2


def test_a_forest_of_single_runs_has_points_and_no_intervals():
    alone = figure_frames.frames(models=["tiny"], variants=["grpo", "ict-10"], seeds=(1,))
    axis = forest.draw(alone["contrasts"], alone["runs"], ["grpo", "ict-10"]).axes[0]
    assert [t.get_text() for t in axis.texts] == ["one seed"]
    assert not [x for x in axis.lines if len(x.get_xdata()) == 2 and x.get_color() == style("ict-10").colour]
    assert len([x for x in axis.lines if x.get_marker() == "D"]) == 1


def test_a_long_two_way_interval_does_not_squeeze_the_rest(frames):
    contrasts = frames["contrasts"].assign(two_way_low=-0.9, two_way_high=0.9)
    low, high = forest.draw(contrasts, frames["runs"], ["ict-10"], margin=0.02).axes[0].get_xlim()
    assert high - low < 60


def test_a_study_of_one_method_has_no_forest_and_broken_contrasts_are_refused(frames):
    contrasts = frames["contrasts"]
    figure = forest.draw(contrasts.iloc[:0], frames["runs"], ["grpo"])
    assert "no two methods" in " ".join(figure.axes[0].texts[0].get_text().split())
    with pytest.raises(UserError, match="average"):
        forest.draw(contrasts[contrasts["benchmark"] != "average"], frames["runs"], ["grpo"])


def test_the_parts_of_a_bar_are_the_standard_error_split_like_the_variance(frames):
    axis = components.draw(frames["components"], ["grpo"]).axes[0]
    widths = [p.get_width() for p in axis.patches]
    variance = np.array([1.0, 4.0, 0.25, 0.25])
    assert names(axis) == ["Base", "GRPO"]
    assert np.allclose(widths[2:], variance / np.sqrt(variance.sum()))
    assert np.allclose(widths[:2], np.array([4.0, 0.25]) / np.sqrt(4.25))  # base: problems and samples alone
    ends = [p.get_x() + p.get_width() for p in axis.patches]
    assert ends[1] == pytest.approx(np.sqrt(4.25)) and ends[-1] == pytest.approx(np.sqrt(5.5))


def test_base_models_that_are_told_apart_come_first_and_move_the_seeds_and_their_rerun(frames):
    rows = frames["components"]
    seeds = rows[(rows["source"] == "seed") & (rows["variant"] == "grpo")]
    base = seeds.assign(source=BASE_MODEL, contribution=seeds["contribution"] * 2)
    again = seeds.assign(source=RERUN, contribution=seeds["contribution"] / 4)
    figure = components.draw(pd.concat([rows, again, base]), ["grpo"])
    first, second, *_, hatched = figure.axes[0].patches[2:]  # base, the untrained model, has two parts
    assert first.get_width() == pytest.approx(2 * second.get_width()) and first.get_x() == 0
    assert second.get_x() == pytest.approx(first.get_width()) == hatched.get_x()
    assert hatched.get_hatch() and hatched.get_width() == pytest.approx(second.get_width() / 4)
    assert "base models" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_components_that_are_nothing_have_no_bar_and_unknown_sources_are_refused(frames):
    assert not components.draw(frames["components"].assign(contribution=0.0), ["grpo"]).axes[0].patches
    [text] = components.draw(frames["components"][:0], ["grpo"]).axes[0].texts
    assert "no spread between runs" in " ".join(text.get_text().split())
    broken = frames["components"].replace({"source": {"sampling": "luck"}})
    with pytest.raises(UserError, match="luck"):
        components.draw(broken, ["grpo"])


def test_stability_draws_the_shares_of_each_claim_one_after_the_other(frames):
    figure = stability.draw(frames["stability"], ["grpo"])
    assert [axis.get_title() for axis in figure.axes] == ["3 seeds", "6 seeds"]
    first = figure.axes[0].patches
    by_hand = [25, 98, 74, 2, 1, 0]  # same, other, opposite of both claims
    assert [patch.get_width() for patch in first] == pytest.approx(by_hand)
    assert [patch.get_x() for patch in first] == pytest.approx([0, 0, 25, 98, 99, 100])
    assert names(figure.axes[0]) == ["gain-over-grpo (contradicted)", "beats-random (not resolved)"]
    few = stability.draw(frames["stability"][:0], ["grpo"])
    assert "too few seeds" in few.axes[0].texts[0].get_text().replace("\n", " ")
