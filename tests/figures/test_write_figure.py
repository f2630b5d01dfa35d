import re

import pytest
import synthetic

from ict_core.figures.registry import FIGURES
from ict_core.figures.write import write

FRAMES = {
    "scores": synthetic.scores(variants=["grpo", "ict-10"]),
    "log": synthetic.log(variants=["grpo", "ict-10"]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_data_give_the_same_bytes(name, tmp_path):
    draw, frame = FIGURES[name]
    first, second = (write(draw(FRAMES[frame], ["grpo", "ict-10"]), name, tmp_path / run) for run in ("a", "b"))
    assert [p.name for p in first] == [f"{name}.pdf", f"{name}.png"]
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == [p.name for p in first]


def test_files_carry_no_date_and_no_software_and_embed_their_fonts(tmp_path):
    draw, frame = FIGURES["reward"]
    pdf, png = (p.read_bytes() for p in write(draw(FRAMES[frame], ["grpo"]), "reward", tmp_path))
    assert b"CreationDate" not in pdf and b"atplotlib" not in pdf and b"atplotlib" not in png
    assert b"/FontFile2" in pdf and not re.search(rb"/Subtype\s*/Type3", pdf)
    assert png.startswith(b"\x89PNG")
