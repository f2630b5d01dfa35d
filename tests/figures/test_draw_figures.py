from types import SimpleNamespace

import figure_frames
import numpy as np
import pandas as pd
import pytest
import synthetic
from figure_frames import drawn
from matplotlib import rc_context, rcdefaults, rcParams
from matplotlib.colors import to_hex

from ict_core.errors import UserError
from ict_core.figures import entropy, pass_at_k, reward
from ict_core.figures.panels import RC, style
from ict_core.figures.registry import FIGURES, caption, draw, figures_of, note
from ict_core.statistics.schemas import statistics_of

# of the variants, in their colours
WITHOUT_LINES = ("thresholds", "purity", "overlap", "single_logit", "ablations", "bench", "batches")


def test_samples_that_could_not_be_graded_are_told_below_the_figures_of_scores():
    scores = synthetic.scores(["tiny"], ["grpo"], seeds=(1,))
    validity = pd.DataFrame({"model": ["tiny"], "gate": ["replica"], "outcome": ["passed"]})
    frames = {"scores": scores, "validity": validity}
    settings, averaged = SimpleNamespace(note="Small."), list(scores["benchmark"].unique())
    stored = SimpleNamespace(settings=settings, frame=frames.__getitem__, averaged=averaged)
    assert {note(name, stored) for name in FIGURES} == {"Small."}
    scores.loc[0, ["n", "wrong", "timeout"]] += [-1, -1, 1]
    told = {name for name in FIGURES if note(name, stored).startswith("Small. 1 of 5,280 samples could not be graded")}
    assert told == {"pass_at_k", "thresholds", "forest", "ablations", "bench", "batches"}
    validity["outcome"] = "failed"
    told = {name for name in FIGURES if "tiny (failed gate: replica): not testable here" in note(name, stored)}
    assert told == {"forest", "ablations", "bench"}


def test_a_caption_names_the_benchmarks_outside_of_the_average_that_the_figure_shows():
    told = {name for name in FIGURES if caption(name, SimpleNamespace(outside="Outside: x.")).endswith(" Outside: x.")}
    assert told == {"pass_at_k", "thresholds", "forest", "ablations", "bench", "batches"}


@pytest.fixture(scope="module")
def smoke():
    return figure_frames.frames(models=["tiny"], variants=["grpo", "ict-10"], seeds=(1,))


def line_of(axis, variant):
    """The variant's mean line: the one of its colour that has no marker."""
    return next(x for x in axis.lines if x.get_color() == style(variant).colour and x.get_marker() == "None")


def study(frames):
    """What the registry takes of a stored study."""
    shown = dict.fromkeys(("shared", "variants"), ("grpo", "ict-10"))
    more = {"margin": 0.03, "baselines": synthetic.BASELINES, "arms": {}, "validity": None, "kept": synthetic.KEPT}
    return SimpleNamespace(frame=frames.__getitem__, settings=SimpleNamespace(**shown, **more))


@pytest.mark.parametrize("name", FIGURES)
def test_one_run_an_arm_is_enough_to_draw_a_stored_study_and_nothing_given_is_changed(smoke, name):
    frames = {n: f.copy() for n, f in smoke.items()}
    with rc_context():
        rcdefaults()
        before = {key: rcParams[key] for key in RC}
        figure = draw(name, study(smoke))
        assert {key: rcParams[key] for key in RC} == before != RC
    assert figure.axes
    assert all(smoke[n].equals(frames[n]) for n in frames)


@pytest.mark.parametrize("name", [n for n in FIGURES if n not in WITHOUT_LINES])
def test_only_the_variants_asked_for_are_drawn(frames, name):
    figure = drawn(name, frames, ["stapo", "missing"])
    methods = {style(v).colour for v in synthetic.VARIANTS}
    colours = {to_hex(line.get_color()).upper() for a in figure.axes for line in a.lines} & methods
    # a declared comparison is always shown
    assert colours == {style(v).colour for v in (["stapo", "ict-10"] if name == "forest" else ["stapo"])}


@pytest.mark.parametrize(
    "name", [n for n in FIGURES if n not in ("forest", "thresholds", "ablations", "bench", "batches", "single_logit")]
)
def test_variants_without_any_row_are_refused(frames, name):
    without_base = {n: f[f["variant"] != "base"] if "variant" in f else f for n, f in frames.items()}
    with pytest.raises(UserError, match="missing"):
        drawn(name, without_base, ["missing"])


def test_only_a_study_that_states_a_learning_curve_has_its_figure_and_its_frame():
    stated = {"learning_curve": {"every": 8, "problems": 10, "samples": 1}}
    assert set(figures_of(stated)) - set(figures_of({})) == {"learning_curve"}
    assert set(statistics_of(stated)) - set(statistics_of({})) == {"learning_curve_means"}


def test_a_learning_curve_is_the_mean_over_seeds_in_its_t_interval(frames):
    figure = drawn("learning_curve", frames, ["ict-10"])
    right = 10.0 * np.array([[3 + step // 4, 2 + step // 4, 3 + step // 4] for step in (0, 8, 16)])  # seeds 1, 2, 3
    line, band = figure.axes[0].lines[0], figure.axes[0].collections[0].get_paths()[0].vertices
    assert line.get_xdata().tolist() == [0, 8, 16] and np.allclose(line.get_ydata(), right.mean(1))
    half = 4.302653 * right[0].std(ddof=1) / np.sqrt(3)
    at_0 = band[np.isclose(band[:, 0], 0), 1]
    assert np.allclose([at_0.min(), at_0.max()], right[0].mean() + half * np.array([-1, 1]), atol=1e-4)


def test_entropy_draws_the_mean_over_seeds(frames):
    log = frames["log"]
    figure = entropy.draw(log, ["ict-10"])
    expected = log.query("model == 'small' and variant == 'ict-10'").groupby("step")["h2"].mean()
    assert np.allclose(figure.axes[3].lines[0].get_ydata(), expected)


def test_reward_is_smoothed_over_five_steps_and_shorter_at_the_ends(frames):
    log = frames["log"]
    line = line_of(reward.draw(log, ["ict-10"]).axes[0], "ict-10").get_ydata()
    raw = 100 * log.query("model == 'tiny' and variant == 'ict-10'").groupby("step")["reward"].mean().to_numpy()
    assert line[0] == pytest.approx(raw[:3].mean())
    assert line[20] == pytest.approx(raw[18:23].mean())
    assert line[39] == pytest.approx(raw[37:].mean())


def test_bands_run_from_the_lowest_to_the_highest_seed(frames):
    log = frames["log"]
    band = entropy.draw(log, ["ict-10"]).axes[0].collections[0].get_paths()[0].vertices
    at = log.query("model == 'tiny' and variant == 'ict-10' and step == 7")["h1"]
    assert np.allclose(sorted(set(band[band[:, 0] == 7][:, 1])), [at.min(), at.max()])


def test_a_step_that_one_seed_lacks_is_a_gap(frames):
    log = frames["log"].copy()
    at = (log["model"] == "tiny") & (log["variant"] == "ict-10") & (log["seed"] == 2) & (log["step"] == 7)
    log.loc[at, "h1"] = np.nan
    line = line_of(entropy.draw(log, ["ict-10"]).axes[0], "ict-10").get_ydata()
    assert np.flatnonzero(np.isnan(line)).tolist() == [7]
    log = frames["log"][~at & ((frames["log"]["model"] == "tiny") | (frames["log"]["variant"] == "grpo"))]
    figure = reward.draw(log, ["grpo", "ict-10"])
    assert np.flatnonzero(np.isnan(line_of(figure.axes[0], "ict-10").get_ydata())).tolist() == [7]
    assert [len(axis.lines) for axis in figure.axes] == [2, 1]  # one model lacks the variant


def test_pass_at_k_draws_means_as_lines_and_every_run_as_a_dot(frames):
    axis = pass_at_k.draw(frames["levels"], frames["runs"], synthetic.VARIANTS).axes[0]
    arm = frames["runs"].query("model == 'tiny' and variant == 'ict-10' and benchmark == 'average'")
    arm = arm[arm["metric"].str.startswith("pass@")]
    k = arm["metric"].str.removeprefix("pass@").astype(int)
    line = line_of(axis, "ict-10")
    assert line.get_xdata().tolist() == [1, 2, 4, 8]  # where the values are: a shifted line would rise early or late
    assert np.allclose(line.get_ydata(), 100 * arm.groupby(k)["value"].mean())
    dots = [x for x in axis.lines if x.get_marker() == style("ict-10").marker]
    assert np.allclose(np.sort(dots[0].get_ydata()), np.sort(100 * arm["value"]))
    assert np.allclose(np.sort(np.round(np.log2(dots[0].get_xdata()))), np.sort(np.log2(k)))
    aside = np.unique(np.round(np.log2(dots[0].get_xdata()) % 1, 6))
    assert len(aside) == 1  # each k as far from its line, so that methods stand side by side
    level = frames["levels"].query("model == 'tiny' and variant == 'ict-10' and benchmark == 'average'")
    bars = next(c for c in axis.collections if to_hex(c.get_color()[0]) == style("ict-10").colour.lower())
    drawn = np.array([segment[:, 1] for segment in bars.get_segments()])
    assert np.allclose(drawn, 100 * level.loc[level["metric"] != "total", ["low", "high"]])
    base = [x for x in axis.lines if x.get_color() == style("base").colour]
    assert len(base) == 1 and base[0].get_linestyle() == "--"
    assert [t.get_text() for t in axis.get_xticklabels()] == ["1", "2", "4", "8"]


def test_pass_at_k_works_without_a_base(frames):
    runs = frames["runs"]
    figure = pass_at_k.draw(frames["levels"], runs[runs["variant"] != "base"], ["grpo"])
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["GRPO"]
