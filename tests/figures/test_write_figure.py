import re

import figure_frames
import pytest
from matplotlib.figure import Figure

from ict_core.figures import FIGURES, draw_note, write
from ict_core.figures._panels import grid

VARIANTS = ["grpo", "ict-10", "ict-20"]
NOTE = "A study in miniature: models of a few hundred thousand parameters; it does not speak for the paper's scale."


@pytest.fixture(scope="module")
def frames():
    return figure_frames.frames(models=["tiny"], variants=VARIANTS, seeds=(1, 2))


def drawn(name, frames):
    return figure_frames.drawn(name, frames, VARIANTS)


@pytest.mark.parametrize("name", ["entropy", "forest", "overlap", "statements"])  # one of each layout
def test_the_same_data_give_the_same_bytes(name, frames, tmp_path):
    first, second = (write(drawn(name, frames), name, tmp_path / run, NOTE) for run in ("a", "b"))
    assert [p.name for p in first] == [f"{name}.pdf", f"{name}.png"]
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == [p.name for p in first]


def test_files_carry_no_date_and_no_software_and_embed_their_fonts(frames, tmp_path):
    pdf, png = (p.read_bytes() for p in write(drawn("reward", frames), "reward", tmp_path))
    assert b"CreationDate" not in pdf and b"atplotlib" not in pdf and b"atplotlib" not in png
    assert b"/FontFile2" in pdf and not re.search(rb"/Subtype\s*/Type3", pdf)
    assert png.startswith(b"\x89PNG")


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_drawn_outside_the_page_or_over_the_note(name, frames):
    figure = drawn(name, frames)
    draw_note(figure, NOTE)
    figure.draw_without_rendering()
    note = figure.texts[-1].get_window_extent()
    assert " ".join(figure.texts[-1].get_text().split()) == NOTE
    boxes = [a.get_tightbbox() for a in figure.axes] + [x.get_window_extent() for x in figure.legends] + [note]
    for box in boxes:
        assert box.x0 > -1 and box.y0 > -1 and box.x1 < figure.bbox.x1 + 1 and box.y1 < figure.bbox.y1 + 1
    assert all(box.y0 >= note.y1 for box in boxes[:-1])
    for legend in figure.legends:
        assert all(a.get_tightbbox().y0 >= legend.get_window_extent().y1 - 1 for a in figure.axes)


def test_a_note_makes_the_figure_higher_and_leaves_the_panels(frames):
    plain, noted = drawn("reward", frames), drawn("reward", frames)
    draw_note(noted, NOTE)
    assert noted.get_figheight() > plain.get_figheight() and noted.get_figwidth() == plain.get_figwidth()
    for figure in (plain, noted):
        figure.draw_without_rendering()
    heights = [f.axes[0].get_window_extent().height for f in (plain, noted)]
    assert heights[0] == pytest.approx(heights[1], rel=0.03)


@pytest.mark.parametrize(("models", "width"), [(1, 3.35), (2, 6.75), (3, 6.75), (5, 11.0)])
def test_one_panel_fills_a_column_and_three_the_text(models, width):
    figure, axes = grid(2, [f"m{i}" for i in range(models)], ["grpo", "ict-10"])
    assert isinstance(figure, Figure) and axes.shape == (2, models)
    assert figure.get_figwidth() == pytest.approx(width)
