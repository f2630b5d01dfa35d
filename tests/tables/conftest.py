"""The statistics of the synthetic study, computed once."""

import pytest


@pytest.fixture(scope="session")
def study():
    """The frames of two models, eight variants, two seeds."""
    import synthetic
    import table_frames

    return table_frames.frames(synthetic.scores(seeds=(1, 2)))
