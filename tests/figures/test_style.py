"""One look a variant, and how its runs stand in their row."""

from pathlib import Path

import numpy as np
import pytest
import synthetic
from matplotlib.figure import Figure

from ict_core.config.load import load_study
from ict_core.config.method_files import load_methods
from ict_core.figures.panels import draw_seeds, label, style, styles
from ict_core.store.layout import REPOSITORY


def test_known_variants_differ_in_colour_and_marker():
    styles = [style(v) for v in synthetic.VARIANTS]
    assert len({s.colour for s in styles}) == len({s.marker for s in styles}) == len(styles)
    first, second = style("grpo"), style("stapo")  # whose curves may be equal: both can be seen
    assert first.width > 1.5 * second.width and second.line != "-"


@pytest.mark.parametrize("study", ["rules", "mini-ablations", "mini"])
def test_the_variants_of_a_large_study_differ(study):
    variants = list(load_study(REPOSITORY / f"configs/studies/{study}.yaml").methods)
    looks = styles(variants)
    assert list(looks) == variants and len({(s.colour, s.line, s.marker) for s in looks.values()}) == len(variants)
    assert all(looks[v].colour == style(v).colour for v in variants)  # by which figures without lines tell them
    assert styles(synthetic.VARIANTS) == {v: style(v) for v in synthetic.VARIANTS}


def test_more_variants_than_looks_share_one():
    looks = styles([f"v{number}" for number in range(500)])
    assert len(looks) == 500 and len(set(looks.values())) > 250


def test_a_percent_in_a_label_is_what_the_method_keeps():
    for variant, method in load_methods(Path(__file__).resolve().parents[2] / "configs/methods").items():
        if label(variant).endswith(" %"):
            stated = method.model_dump(mode="json")
            kept = method.percent_kept(stated) or 100 * stated["probability"]  # of a draw for each token
            assert label(variant).endswith(f" {kept:g} %"), variant


@pytest.mark.parametrize("number", [1, 2, 6, 20, 50])
def test_runs_lie_apart_and_within_their_row(number):
    axis = Figure().subplots()
    draw_seeds(axis, 3.0, np.full(number, 0.5), (0.5, 0.4, 0.6), style("grpo"))
    runs = [line for line in axis.lines if line.get_linestyle() == "None" and line.get_marker() != "|"]
    heights = runs[0].get_ydata()
    assert len(runs) == 1 and len(heights) == number
    assert np.mean(heights) == pytest.approx(3.0) and np.ptp(heights) <= 0.75 + 1e-9
    assert number == 1 or 0 < np.diff(heights).min() <= 0.15 + 1e-9
