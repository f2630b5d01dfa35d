"""How far the first-order statement about H2 carries: against the exact change, on random and on real distributions.

A frame of *states* has a row a distribution with a token sampled from it: the columns logprob, h1, h2, nats. States
whose H2 is below `regimes.RESOLUTION` are left out, and sets of fewer than `regimes.LEAST` states.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import entr

from ict_core.seeding import generator
from ict_core.statistics import over_seeds
from ict_core.theory._regimes import LEAST, RESOLUTION, regimes
from ict_core.theory._single_logit import Array, first_order_h2_change, h1_change, h2_change, turning_shift

SIZES = (0.01, 0.1, 0.5, 1.0, 2.0, 4.0)  # nats: by how much a logit is raised, and lowered
RANDOM = ((10, 1.0), (10, 0.1), (1000, 1.0), (1000, 0.01))  # (tokens, concentration) of the Dirichlet distributions
DRAWS = 2000  # random distributions of each kind
BREAKS = 0.05  # the statement breaks where its sign is wrong for more than this share
RATIOS = (0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0)  # edges of bins of p / beta
TENTHS = tuple(float(edge) for edge in np.linspace(0, 1, 11).round(1))  # edges of bins of p
SMALL = 0.1  # nats: the shift at which H1 and H2 are seen to move together or apart


@cache
def random_states(size: int, concentration: float, draws: int = DRAWS) -> pd.DataFrame:
    """States of symmetric Dirichlet distributions over `size` tokens."""
    rng = generator(0, "random distributions", size, str(concentration))
    p = rng.dirichlet(np.full(size, concentration), draws)
    sampled = rng.multinomial(1, p).argmax(-1)
    logprob = np.log(p[np.arange(draws), sampled])
    return pd.DataFrame({"logprob": logprob, "h1": entr(p).sum(-1), "h2": -np.log((p**2).sum(-1))})


def sources(tokens: pd.DataFrame) -> dict[str, list[pd.DataFrame]]:
    """The states to look at by name: each random kind's, and each model's, a frame a training seed."""
    states = {f"Dirichlet({c:g}) of {size:,}": [random_states(size, c)] for size, c in RANDOM}
    for model, rows in tokens.groupby("model", sort=False):
        states[str(model)] = [frame for _, frame in rows.groupby("seed")]
    return states


def over_sources(
    measure: Callable[[pd.DataFrame], pd.DataFrame], states: Mapping[str, list[pd.DataFrame]]
) -> pd.DataFrame:
    """A measure of each frame of states, as `intervals.over_seeds` with the column `states` in front."""
    values = pd.concat([measure(frame).assign(states=name) for name, frames in states.items() for frame in frames])
    return over_seeds(values, ["states", *values.columns.drop(["states", "value"])])


def _known(states: pd.DataFrame) -> tuple[pd.DataFrame, Array, Array, Array]:
    """The states that count, and their logprob, h1, h2."""
    known = states[states["h2"] >= RESOLUTION]
    logprob, h1, h2 = (known[name].to_numpy(np.float64) for name in ("logprob", "h1", "h2"))
    return known, logprob, h1, h2


def by_regime(states: pd.DataFrame) -> pd.DataFrame:
    """The first-order change of H2 against the exact one, when the token's logit alone is raised or lowered.

    Returns:
        Columns regime, shift (nats), measure, `value`. The measures: share of all states, without a shift (NaN);
        same_sign, the share of the regime's for which both changes have the same sign; error_median and error_p95 of
        |first-order change / exact change - 1|; together, the share for which H1 and H2 change in the same direction,
        exactly.
    """
    known, logprob, h1, h2 = _known(states)
    chosen = {name: mask for name, mask in regimes(known).items() if mask.sum() >= LEAST}
    rows = [(name, np.nan, "share", mask.sum() / len(states)) for name, mask in chosen.items()]
    for shift in [*(-size for size in SIZES[::-1]), *SIZES]:
        exact, first = h2_change(logprob, h2, shift), first_order_h2_change(logprob, h2, shift)
        same = np.sign(first) == np.sign(exact)
        together = np.sign(h1_change(logprob, h1, shift)) == np.sign(exact)
        error = np.abs(first / exact - 1)
        for name, mask in chosen.items():
            median, p95 = np.quantile(error[mask], [0.5, 0.95])
            rows += [
                (name, shift, "same_sign", same[mask].mean()),
                (name, shift, "error_median", median),
                (name, shift, "error_p95", p95),
                (name, shift, "together", together[mask].mean()),
            ]
    return pd.DataFrame(rows, columns=["regime", "shift", "measure", "value"])


def _binned(x: Array, edges: Sequence[float], value: Callable[[NDArray[np.bool_]], float]) -> pd.DataFrame:
    """`value` of the mask of each bin [start, end) of `x`: columns start, end, `value`."""
    bins = [(start, end, (x >= start) & (x < end)) for start, end in pairwise(edges)]
    rows = [(start, end, value(mask)) for start, end, mask in bins if mask.sum() >= LEAST]
    return pd.DataFrame(rows, columns=["start", "end", "value"])


def breaking_shift(states: pd.DataFrame) -> pd.DataFrame:
    """Where the sign of the first-order statement breaks, by p / beta.

    Returns:
        Columns start, end (edges of :data:`RATIOS`) and `value`: the nats by which the logit must be raised (lowered,
        from p = beta on) for over 5 % of the bin's states to have the other sign; NaN where no shift is enough.
    """
    _, logprob, _, h2 = _known(states)
    turning = np.abs(turning_shift(logprob, h2))

    def breaking(mask: NDArray[np.bool_]) -> float:
        shift = float(np.sort(turning[mask])[int(BREAKS * mask.sum())])
        return shift if np.isfinite(shift) else np.nan

    return _binned(np.exp(logprob + h2), RATIOS, breaking)


def together_by_probability(states: pd.DataFrame) -> pd.DataFrame:
    """Share of the states for which H1 and H2 change in the same direction, exactly, by p, at a shift of :data:`SMALL`.

    Columns start, end (edges of :data:`TENTHS`) and `value`.
    """
    _, logprob, h1, h2 = _known(states)
    together = np.sign(h1_change(logprob, h1, SMALL)) == np.sign(h2_change(logprob, h2, SMALL))
    return _binned(np.exp(logprob), TENTHS, lambda mask: float(together[mask].mean()))


BINNED = {"breaking": breaking_shift, "together": together_by_probability}
"""Measures by bins: of p / beta the nats at which the sign breaks, of p the share for which H1 moves with H2."""
