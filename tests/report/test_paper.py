"""The paper's figures, by its numbers."""

from pathlib import Path

import pandas as pd
import pytest

from ict_core.figures import split
from ict_core.report.paper import PAPER_FIGURES
from ict_core.store.layout import StudyFiles


def test_every_figure_that_the_paper_draws_from_data_is_there():
    drawn = {f"figure-{number.lower().replace('.', '-')}" for number in PAPER_FIGURES}
    assert drawn == {file.stem for file in StudyFiles(Path()).paper_files if file.suffix != ".md"}


def test_the_ratio_of_high_to_low_entropy_by_hand():
    shares = [0.5, 0.6, 0.4]
    rows = [("tiny", "ict-10", seed, "high_entropy_share_of_kept", share) for seed, share in enumerate(shares)]
    frame = pd.DataFrame(rows, columns=["model", "variant", "seed", "quantity", "value"])
    half = 4.302652729911275 * 0.1 / 3**0.5  # t of 2 degrees of freedom
    mean = frame[:1].assign(mean=0.5, low=0.5 - half, high=0.5 + half, seeds=3)
    axis = split.draw(frame, mean, ["ict-10"]).axes[0]
    interval, runs, mean, *papers = axis.lines
    assert runs.get_xdata() == pytest.approx([1.0, 1.5, 0.4 / 0.6])
    assert mean.get_xdata() == pytest.approx([1.0])
    assert interval.get_xdata() == pytest.approx([(0.5 - half) / (0.5 + half), (0.5 + half) / (0.5 - half)])
    assert [line.get_xdata()[0] for line in papers] == [1.03, 0.99]
