"""Every figure by its name, with the frame that it is drawn from."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from ict_core.figures import entropy, pass_at_k, reward


class Entry(NamedTuple):
    """A figure's maker, and whether it reads the study's `scores` or its training `log`."""

    draw: Callable[[pd.DataFrame, Sequence[str]], Figure]
    frame: Literal["scores", "log"]


FIGURES = {
    "reward": Entry(reward.draw, "log"),
    "entropy": Entry(entropy.draw, "log"),
    "pass_at_k": Entry(pass_at_k.draw, "scores"),
}
