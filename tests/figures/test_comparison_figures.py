"""The figures of the statistics stage: threshold ablation, forest plot."""

import figure_frames
import numpy as np
import pytest
import synthetic

from ict_core.figures import forest, thresholds
from ict_core.figures.panels import style


def test_thresholds_draw_mean_interval_and_every_run_over_the_percentage(frames):
    figure = thresholds.draw(frames["levels"], frames["runs"], synthetic.VARIANTS, synthetic.KEPT, synthetic.BASELINES)
    assert [a.get_title() for a in figure.axes[:2]] == ["tiny (3 seeds)", "small (3 seeds)"]
    at = "model == 'small' and variant == 'ict-20' and benchmark == 'average' and metric == 'pass@4'"
    axis, level, runs = figure.axes[3], frames["levels"].query(at).iloc[0], frames["runs"].query(at)
    own = [x for x in axis.lines if x.get_color() == style("ict-20").colour]
    (marks,) = (x for x in own if x.get_marker() == style("ict-20").marker)
    (bar,) = (x for x in own if x.get_marker() == "None" and x.get_linestyle() == "-" and len(x.get_xdata()) == 2)
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


def names(axis):
    return [t.get_text() for t in axis.get_yticklabels()]


def test_the_forest_has_a_line_a_comparison_under_its_model_and_baseline(frames):
    axis = forest.draw(frames["contrasts"], frames["runs"], ["grpo", "stapo", "ict-10"], margin=0.02).axes[0]
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
        left, right = forest.draw(frames["contrasts"], frames["runs"], variants, margin=0.02).axes
        filled = [[x for x in a.lines if x.get_marker() == "D" and x.get_markerfacecolor() != "white"]
                  for a in (left, right)]  # fmt: skip
        assert [len(f) for f in filled] == [0, 2]  # declared on pass@4 alone, in two models
        assert [t.get_weight() for t in right.texts].count("bold") == 2


def test_a_forest_of_single_runs_has_points_and_no_intervals():
    alone = figure_frames.frames(models=["tiny"], variants=["grpo", "ict-10"], seeds=(1,))
    axis = forest.draw(alone["contrasts"], alone["runs"], ["grpo", "ict-10"], margin=0.02).axes[0]
    assert [t.get_text() for t in axis.texts] == ["one seed"]
    assert not [x for x in axis.lines if len(x.get_xdata()) == 2 and x.get_color() == style("ict-10").colour]
    assert len([x for x in axis.lines if x.get_marker() == "D"]) == 1


def test_a_study_of_one_method_has_no_forest(frames):
    figure = forest.draw(frames["contrasts"].iloc[:0], frames["runs"], ["grpo"], margin=0.02)
    assert "no two methods" in " ".join(figure.axes[0].texts[0].get_text().split())
