"""The sets of tokens that the theory speaks of, by a token's probability p and its distribution's purity beta."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

RESOLUTION = 1e-6  # nats: what single precision tells apart in an entropy; a smaller one, or a smaller change, is none
LEAST = 10  # tokens: a share of fewer is no value


def regimes(states: pd.DataFrame) -> dict[str, NDArray[np.bool_]]:
    """Name -> which rows, with the columns logprob (ln p) and h2 (-ln beta), belong to it; in the order shown."""
    logprob, purity = states["logprob"].to_numpy(), -states["h2"].to_numpy()
    return {
        "all": np.ones(len(states), dtype=bool),
        "p > beta": logprob > purity,
        "p < beta": logprob < purity,
        "p > 1/e": logprob > -1,
        "p < 1/e": logprob < -1,
    }
