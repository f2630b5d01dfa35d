"""Makes the synthetic study of tests/statistics and tests/figures importable here, and computes its statistics once."""

import sys
from pathlib import Path

import pytest

for package in ("statistics", "figures"):
    sys.path.insert(0, str(Path(__file__).parents[1] / package))


@pytest.fixture(scope="session")
def study():
    """The frames of two models, eight variants, three seeds."""
    import synthetic
    import table_frames

    return table_frames.frames(synthetic.scores())
