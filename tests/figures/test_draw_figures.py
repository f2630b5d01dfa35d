import numpy as np
import pytest
import synthetic
from matplotlib import rcParams

from ict_core.errors import UserError
from ict_core.figures import entropy, pass_at_k, reward
from ict_core.figures.registry import FIGURES
from ict_core.figures.style import RC, label, style
from ict_core.statistics.runs import AVERAGE, run_frame


@pytest.fixture(scope="module")
def frames():
    return {"scores": synthetic.scores(), "log": synthetic.log()}


@pytest.fixture(scope="module")
def smoke():
    arms = {"models": ["tiny"], "variants": ["grpo", "ict-10"], "seeds": (1,)}
    return {"scores": synthetic.scores(**arms, n=4), "log": synthetic.log(**arms)}


def line_of(axis, variant):
    """The variant's mean line: the one of its colour that has no marker."""
    return next(x for x in axis.lines if x.get_color() == style(variant).colour and x.get_marker() == "None")


@pytest.mark.parametrize("name", FIGURES)
def test_one_panel_a_model_and_a_legend_in_order(frames, name):
    figure = FIGURES[name].draw(frames[FIGURES[name].frame], synthetic.VARIANTS)
    assert [a.get_title() for a in figure.axes][:2] == synthetic.MODELS
    assert len(figure.axes) == (4 if name == "entropy" else 2)
    shown = [*(["base"] if name == "pass_at_k" else []), *synthetic.VARIANTS]
    assert {t.get_text() for t in figure.legends[0].get_texts()} == {label(v) for v in shown}
    assert all(a.get_legend() is None for a in figure.axes)


@pytest.mark.parametrize("name", FIGURES)
def test_one_seed_and_one_model_are_enough(smoke, name):
    figure = FIGURES[name].draw(smoke[FIGURES[name].frame], ["grpo", "ict-10"])
    figure.draw_without_rendering()
    assert all(len(a.lines) >= 2 for a in figure.axes)


@pytest.mark.parametrize("name", FIGURES)
def test_only_the_variants_asked_for_are_drawn(frames, name):
    figure = FIGURES[name].draw(frames[FIGURES[name].frame], ["stapo", "missing"])
    colours = {line.get_color() for a in figure.axes for line in a.lines}
    assert colours == {style("stapo").colour} | ({style("base").colour} if name == "pass_at_k" else set())


def test_nothing_to_draw_is_refused(frames):
    with pytest.raises(UserError, match="missing"):
        reward.draw(frames["log"], ["missing"])


@pytest.mark.parametrize("name", FIGURES)
def test_global_settings_stay_untouched(frames, name):
    before = {key: rcParams[key] for key in RC}
    FIGURES[name].draw(frames[FIGURES[name].frame], ["grpo"])
    assert {key: rcParams[key] for key in RC} == before


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


def test_a_step_that_one_seed_lacks_is_a_gap(frames):
    log = frames["log"].copy()
    at = (log["model"] == "tiny") & (log["variant"] == "ict-10") & (log["seed"] == 2) & (log["step"] == 7)
    log.loc[at, "h1"] = np.nan
    line = line_of(entropy.draw(log, ["ict-10"]).axes[0], "ict-10").get_ydata()
    assert np.flatnonzero(np.isnan(line)).tolist() == [7]
    log = frames["log"][~at]
    line = line_of(reward.draw(log, ["ict-10"]).axes[0], "ict-10").get_ydata()
    assert np.flatnonzero(np.isnan(line)).tolist() == [7]


def test_a_variant_of_one_model_only_leaves_the_other_panel_without_it(frames):
    log = frames["log"]
    log = log[(log["model"] == "tiny") | (log["variant"] == "grpo")]
    figure = reward.draw(log, ["grpo", "ict-10"])
    assert [len(a.lines) for a in figure.axes] == [2, 1]


def test_pass_at_k_draws_means_as_lines_and_every_run_as_a_dot(frames):
    axis = pass_at_k.draw(frames["scores"], synthetic.VARIANTS).axes[0]
    runs = run_frame(frames["scores"])
    runs = runs[(runs["model"] == "tiny") & (runs["benchmark"] == AVERAGE)]
    arm = runs[runs["variant"] == "ict-10"]
    line = line_of(axis, "ict-10")
    assert line.get_xdata().tolist() == [1, 2, 4, 8]
    assert np.allclose(line.get_ydata(), 100 * arm.groupby("k")["pass_at_k"].mean())
    dots = [x for x in axis.lines if x.get_marker() == style("ict-10").marker]
    assert np.allclose(np.sort(dots[0].get_ydata()), np.sort(100 * arm["pass_at_k"]))
    assert np.allclose(np.round(np.log2(dots[0].get_xdata())), np.log2(arm["k"]))
    base = [x for x in axis.lines if x.get_color() == style("base").colour]
    assert len(base) == 1 and base[0].get_linestyle() == "--"
    assert [t.get_text() for t in axis.get_xticklabels()] == ["1", "2", "4", "8"]


def test_pass_at_k_works_without_a_base(frames):
    scores = frames["scores"]
    figure = pass_at_k.draw(scores[scores["variant"] != "base"], ["grpo"])
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["GRPO"]


def test_the_registry_names_the_frame_of_each_figure():
    assert {name: entry.frame for name, entry in FIGURES.items()} == {
        "reward": "log",
        "entropy": "log",
        "pass_at_k": "scores",
    }
