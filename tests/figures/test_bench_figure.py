"""The figure of a bench of rules."""

import figure_frames
import pytest

from ict_core.evidence.stored import ArmVariation
from ict_core.figures.bench import COLOURS, draw
from ict_core.statistics.ranks import rank_frame

ARMS = {
    "ict-10": ArmVariation("grpo", None, (("method.selector", "grpo", "top-score"),), 44),
    "ict-20": ArmVariation("grpo", None, (("method.selector", "grpo", "top-score"),), 44),
    "random-10": ArmVariation("ict-10", "control", (("method.control", "—", "permuted-sequence"),), 50),
    "stapo": ArmVariation("ict-10", "control", (("method.control", "—", "mean-one"),), 50),
}


@pytest.fixture(scope="module")
def frames():
    runs = figure_frames.runs()
    contrasts = figure_frames.contrasts(runs, ["grpo", "random-10", "stapo", "ict-10"])
    return contrasts, rank_frame(runs, ["grpo", "ict-10", "ict-20"])


def test_every_rule_has_a_line_in_the_order_of_its_rank(frames):
    contrasts, ranks = frames
    figure = draw(contrasts, ranks, [], arms=ARMS, baselines=["grpo"], margin=0.02)
    models = list(ranks["model"].unique())
    assert len(figure.axes) == 3 * len(models)
    first = ranks[(ranks["metric"] == "pass@4") & (ranks["model"] == models[0])].set_index("variant")
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    order = first.sort_values("rank").index.tolist()
    labels = {"grpo": "GRPO", "ict-10": "ICT 10 %", "ict-20": "ICT 20 %"}
    assert names == [labels[variant] for variant in order]

    def dots(axis):
        drawn = [line for line in axis.lines if line.get_marker() == "o"]
        return {float(line.get_ydata()[0]): float(line.get_xdata()[0]) for line in drawn}

    rows = contrasts[(contrasts["benchmark"] == "average") & (contrasts["metric"] == "pass@4")]
    rows = rows[rows["model"] == models[0]].set_index(["variant", "baseline"])["difference"]
    over_grpo = {float(order.index(rule)): 100 * rows[rule, "grpo"] for rule in ("ict-10", "ict-20")}
    assert dots(figure.axes[0]) == pytest.approx(over_grpo)
    assert len(dots(figure.axes[1])) == 2  # both controls of ICT-10
    assert dots(figure.axes[2]) == {float(height): float(first["rank"][rule]) for height, rule in enumerate(order)}


def test_a_rule_of_one_model_has_a_line_and_every_rank_is_on_its_axis(frames):
    contrasts, ranks = frames
    first = ranks["model"].iloc[0]
    fewer = ranks[(ranks["model"] != first) | (ranks["variant"] != "ict-20")]
    figure = draw(contrasts, fewer, [], arms=ARMS, baselines=["grpo"], margin=0.02)
    assert "ICT 20 %" in [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert figure.axes[2].get_xlim() == (0.5, 3.5) and "2 to 3" in figure.axes[2].get_title()


def test_colours_are_of_the_verdict_and_a_study_without_controls_says_so(frames):
    contrasts, ranks = frames
    better = contrasts.assign(verdict="better")
    figure = draw(better, ranks, [], arms=ARMS, baselines=["grpo"], margin=0.02)
    assert {line.get_color() for line in figure.axes[0].lines if line.get_marker() == "o"} == {COLOURS["better"]}
    plain = {"ict-10": ARMS["ict-10"]}
    figure = draw(contrasts, ranks, [], arms=plain, baselines=["grpo"], margin=0.02)
    assert "it is no bench" in figure.axes[0].texts[0].get_text().replace("\n", " ")


def test_rules_that_share_no_seed_have_no_rank(frames):
    contrasts, ranks = frames
    figure = draw(contrasts, ranks.head(0), [], arms=ARMS, baselines=["grpo"], margin=0.02)
    assert len(figure.axes) == 1 and figure.axes[0].texts


def test_the_legend_is_within_the_page_with_a_control_of_the_same_sign_too(frames):
    contrasts, ranks = frames
    name = "ict-10-same-sign"
    arms = ARMS | {name: ArmVariation("ict-10", "control", (("method.control", "—", "permuted-group-same-sign"),), 50)}
    figure = draw(contrasts.replace("stapo", name), ranks, [], arms=arms, baselines=["grpo"], margin=0.02)
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert len(figure.legends[0].texts) == 6 and box.x0 > -1 and box.x1 < figure.bbox.x1 + 1
