"""The forest of the ablations: each variant beside the one that it varies."""

import figure_frames
import pytest

from ict_core.evidence.stored import ArmVariation
from ict_core.figures.ablations import draw, rows_of

ARMS = {
    "ict-10": ArmVariation("grpo", None, (("method.selector", "grpo", "top-score"),), 44),
    "ict-20": ArmVariation("ict-10", "percent", (("method.percent", "10", "20"),), 50),
    "random-10": ArmVariation("ict-10", "score", (("method.score", "js", "random"),), 50),
    "stapo": ArmVariation("grpo", "tau_h", (("method.tau_h", 0.2, 0.8),), 50),
}


@pytest.fixture(scope="module")
def frames():
    runs = figure_frames.runs()
    # each later variant against each earlier one of these: ict-10 - random-10, ict-20 - ict-10, stapo - grpo
    return {"runs": runs, "contrasts": figure_frames.contrasts(runs, ["grpo", "random-10", "ict-10"])}


def test_a_contrast_is_turned_where_it_was_made_the_other_way(frames):
    contrasts = frames["contrasts"]
    rows = rows_of(contrasts, ARMS)
    pairs = set(rows[["variant", "baseline"]].itertuples(index=False, name=None))
    assert pairs == {("ict-20", "ict-10"), ("random-10", "ict-10"), ("stapo", "grpo")}
    key = ["model", "metric"]
    ours = rows[rows["variant"] == "random-10"].set_index(key)
    made = contrasts[(contrasts["variant"] == "ict-10") & (contrasts["baseline"] == "random-10")]
    made = made[made["benchmark"] == "average"].set_index(key).loc[ours.index]
    for column, other in (("difference", "difference"), ("low", "high"), ("two_way_high", "two_way_low")):
        assert ours[column].to_numpy() == pytest.approx(-made[other].to_numpy(), nan_ok=True)


def test_a_study_without_ablations_says_so(frames):
    figure = draw(frames["contrasts"], frames["runs"], [], arms={"ict-10": ARMS["ict-10"]}, margin=0.02)
    assert "factor" in figure.axes[0].texts[0].get_text()
