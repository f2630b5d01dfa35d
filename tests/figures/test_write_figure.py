import re

import figure_frames
import pytest

from ict_core.errors import Damaged, UserError
from ict_core.figures.panels import draw_note, sentence
from ict_core.figures.registry import FIGURES, sentence_of
from ict_core.figures.write import write

VARIANTS = ["grpo", "ict-10", "ict-20"]
NOTE = "A study in miniature: models of a few hundred thousand parameters; it does not speak for the paper's scale."


@pytest.fixture(scope="module")
def frames():
    return figure_frames.frames(models=["tiny"], variants=VARIANTS, seeds=(1, 2))


def drawn(name, frames):
    return figure_frames.drawn(name, frames, VARIANTS)


@pytest.mark.parametrize("name", ["forest", "overlap"])  # one of each layout; that of a grid stands below
def test_the_same_data_give_the_same_bytes(name, frames, tmp_path):
    first, second = (write(drawn(name, frames), name, tmp_path / run, NOTE) for run in ("a", "b"))
    assert [p.name for p in first] == [f"{name}.pdf", f"{name}.png"]
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == [p.name for p in first]


def test_files_carry_no_date_and_no_software_and_embed_their_fonts(frames, tmp_path):
    paths, again = (write(drawn("reward", frames), "reward", tmp_path / run) for run in ("a", "b"))
    pdf, png = (path.read_bytes() for path in paths)
    assert [pdf, png] == [path.read_bytes() for path in again]
    assert b"CreationDate" not in pdf and b"atplotlib" not in pdf and b"atplotlib" not in png
    assert b"/FontFile2" in pdf and not re.search(rb"/Subtype\s*/Type3", pdf)
    assert png.startswith(b"\x89PNG") and sentence_of(paths[1]) is None


@pytest.mark.parametrize("price", ["$0.50/h, in all $12", "dir $A_B_C$"])
def test_a_note_is_no_formula(price, frames, tmp_path):
    figure = drawn("reward", frames)
    assert len(write(figure, "reward", tmp_path, price)) == 2
    assert [text for text in figure.texts if text.get_text() == price and not text.get_parse_math()]


def test_a_figure_without_data_is_known_by_its_file(tmp_path):
    _, without = write(sentence("Nothing was run."), "none", tmp_path)
    assert sentence_of(without) == "Nothing was run."
    without.write_bytes(b"no PNG")
    with pytest.raises(Damaged, match=r"none\.png: not a PNG"):
        sentence_of(without)
    with pytest.raises(UserError, match=r"missing\.png: no such file"):
        sentence_of(tmp_path / "missing.png")


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_drawn_outside_the_page_or_over_the_note(name, frames):
    figure = drawn(name, frames)
    draw_note(figure, NOTE.replace("miniature", "`miniature`"))
    figure.draw_without_rendering()
    note = figure.texts[-1].get_window_extent()
    assert " ".join(figure.texts[-1].get_text().split()) == NOTE
    boxes = [a.get_tightbbox() for a in figure.axes] + [x.get_window_extent() for x in figure.legends] + [note]
    for box in boxes:
        assert box.x0 > -1 and box.y0 > -1 and box.x1 < figure.bbox.x1 + 1 and box.y1 < figure.bbox.y1 + 1
    assert all(box.y0 >= note.y1 for box in boxes[:-1])
    for legend in figure.legends:
        assert all(a.get_tightbbox().y0 >= legend.get_window_extent().y1 - 1 for a in figure.axes)
