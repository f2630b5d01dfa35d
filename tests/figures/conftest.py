"""Figures are drawn within matplotlib's settings, as `registry.draw` has it."""

import pytest
from matplotlib import rc_context

from ict_core.figures.panels import RC


@pytest.fixture(autouse=True)
def settings_of_the_figures():
    with rc_context(RC):
        yield
