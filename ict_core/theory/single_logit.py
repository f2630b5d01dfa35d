"""The effect of raising one logit on a distribution's entropies H1 and H2, exactly and to first order.

In a distribution pi = softmax(theta), the token a has the probability p. Raising theta[a] by `shift` divides every
probability by z = 1 + p (e^shift - 1) and multiplies that of a by e^shift. So the change of both entropies follows from
p, the entropy itself and the shift; the other probabilities need not be known. With beta = sum pi^2 = exp(-H2):

    beta' = (beta - p^2 + p^2 e^(2 shift)) / z^2
    H1'   = ln z + (H1 - p (e^shift - 1) ln p - shift p e^shift) / z

The first-order statement about H2 is from the theory section of ICT (arXiv:2606.19771). How far it holds is measured on
*states*: frames with one row per distribution and token sampled from it, and the columns logprob, h1, h2, nats. States
whose H2 is below :data:`RESOLUTION` are left out, and so are sets of fewer than :data:`LEAST` states.

Arguments are `logprob` = ln p <= 0, H1 and H2 >= 0 of the distribution, and shifts. All are in nats, float64, and of
shapes that broadcast. Results have the broadcast shape.
"""

from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import entr

from ict_core.seeding import generator
from ict_core.statistics.intervals import over_seeds

RESOLUTION = 1e-6  # nats: single precision's resolution of an entropy; a smaller entropy or change counts as 0
LEAST = 10  # tokens: a share over fewer is not reported


def regimes(states: pd.DataFrame) -> dict[str, NDArray[np.bool_]]:
    """The rows of each regime as a mask by name, in display order; reads logprob (ln p) and h2 (-ln beta)."""
    logprob, log_beta = states["logprob"].to_numpy(), -states["h2"].to_numpy()
    return {
        "all": np.ones(len(states), dtype=bool),
        "p > beta": logprob > log_beta,
        "p < beta": logprob < log_beta,
        "p > 1/e": logprob > -1,
        "p < 1/e": logprob < -1,
    }


Array = NDArray[np.float64]
Numbers = Array | float


def _p_ln_p(logprob: Array) -> Array:
    """p ln p; 0 where p is 0."""
    return np.exp(logprob) * np.maximum(logprob, -1e3)


def _scale(logprob: Array, shift: Numbers) -> Array:
    """z as a sum of two positive terms, which keeps its digits where p is close to 1 and the shift far below 0."""
    return -np.expm1(logprob) + np.exp(logprob + shift)


def h2_change(logprob: Array, h2: Array, shift: Numbers) -> Array:
    """The exact change of H2.

    The other tokens' part of beta, beta - p^2, is clipped to [0, (1 - p)^2], as rounding may put it outside.
    """
    others = np.clip(-np.expm1(2 * logprob + h2), 0.0, np.expm1(logprob) ** 2 * np.exp(h2))  # divided by beta
    return 2 * np.log(_scale(logprob, shift)) - np.log(others + np.exp(2 * (logprob + shift) + h2))


def h1_change(logprob: Array, h1: Array, shift: Numbers) -> Array:
    """The exact change of H1."""
    z = _scale(logprob, shift)
    return np.log(z) + (h1 - np.expm1(shift) * _p_ln_p(logprob) - shift * np.exp(logprob + shift)) / z - h1


def first_order_h2_change(logprob: Array, h2: Array, shift: Numbers) -> Array:
    """The change of H2 to first order in the shift: -2 shift p (p / beta - 1), nats."""
    return -2 * shift * np.exp(logprob) * np.expm1(logprob + h2)


def first_order_h1_change(logprob: Array, h1: Array, shift: Numbers) -> Array:
    """The change of H1 to first order in the shift: -shift p (ln p + H1), nats."""
    return -shift * (_p_ln_p(logprob) + np.exp(logprob) * h1)


def shift_between(logprob: Array, logprob_after: Array) -> Array:
    """The shift of one logit that takes a token's probability from one value to the other: the change of its log-odds.

    Not finite where either probability is 0 or 1.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return logprob_after - logprob - np.log(np.expm1(logprob_after) / np.expm1(logprob))


def turning_shift(logprob: Array, h2: Numbers) -> Array:
    """The shift beyond which the sign of the first-order statement about H2 is wrong; H2 must be above 0.

    It is the second zero of the exact change, ln((2 beta - p (1 + beta)) / (p (1 - beta))): above 0 where p < beta,
    below 0 where p > beta. On the other side of 0 the sign is right at every shift. From p = 2 beta / (1 + beta) on it
    is right on both sides, and the result is minus infinity.
    """
    p, beta = np.exp(logprob), np.exp(-h2)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(2 * beta - p * (1 + beta), 0.0)) - logprob - np.log(-np.expm1(-h2))


SIZES = (0.01, 0.1, 0.5, 1.0, 2.0, 4.0)  # nats: by how much a logit is raised, and lowered
RANDOM = ((10, 1.0), (10, 0.1), (1000, 1.0), (1000, 0.01))  # (tokens, concentration) of the Dirichlet distributions
DRAWS = 2000  # random distributions of each kind
BREAKS = 0.05  # the statement breaks where its sign is wrong for more than this share
RATIOS = (0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0)  # edges of bins of p / beta


@cache
def random_states(size: int, concentration: float) -> pd.DataFrame:
    """:data:`DRAWS` states of symmetric Dirichlet distributions over `size` tokens."""
    rng = generator(0, "random distributions", size, str(concentration))
    p = rng.dirichlet(np.full(size, concentration), DRAWS)
    sampled = rng.multinomial(1, p).argmax(-1)
    logprob = np.log(p[np.arange(DRAWS), sampled])
    return pd.DataFrame({"logprob": logprob, "h1": entr(p).sum(-1), "h2": -np.log((p**2).sum(-1))})


def sources(tokens: pd.DataFrame) -> dict[str, list[pd.DataFrame]]:
    """The states to analyse, by name: those of each random kind, and of each model one frame per training seed."""
    states = {f"Dirichlet({c:g}) of {size:,}": [random_states(size, c)] for size, c in RANDOM}
    for model, rows in tokens.groupby("model", sort=False):
        states[str(model)] = [frame for _, frame in rows.groupby("seed")]
    return states


def over_sources(
    measure: Callable[[pd.DataFrame], pd.DataFrame], states: Mapping[str, list[pd.DataFrame]]
) -> pd.DataFrame:
    """A measure of each frame of states, as `statistics.intervals.over_seeds` with the column `states` in front."""
    values = pd.concat([measure(frame).assign(states=name) for name, frames in states.items() for frame in frames])
    return over_seeds(values, ["states", *values.columns.drop(["states", "value"])])


def _known(states: pd.DataFrame) -> tuple[pd.DataFrame, Array, Array, Array]:
    """The states whose H2 is not below `RESOLUTION`, and their logprob, h1, h2."""
    resolved = states[states["h2"] >= RESOLUTION]
    logprob, h1, h2 = (resolved[name].to_numpy(np.float64) for name in ("logprob", "h1", "h2"))
    return resolved, logprob, h1, h2


def by_regime(states: pd.DataFrame) -> pd.DataFrame:
    """The first-order change of H2 against the exact one, when the token's logit alone is raised or lowered.

    The columns are regime, shift (nats), measure, `value`. The measures are: share of all states, with shift NaN;
    same_sign, the share of the regime's states for which both changes have the same sign; error_median and error_p95 of
    |first-order change / exact change - 1|; together, the share whose exact changes of H1 and H2 have the same sign.
    """
    resolved, logprob, h1, h2 = _known(states)
    chosen = {name: mask for name, mask in regimes(resolved).items() if mask.sum() >= LEAST}
    rows = [(name, np.nan, "share", mask.sum() / len(states)) for name, mask in chosen.items()]
    for shift in [*(-size for size in SIZES[::-1]), *SIZES]:
        exact, first = h2_change(logprob, h2, shift), first_order_h2_change(logprob, h2, shift)
        same = np.sign(first) == np.sign(exact)
        together = np.sign(h1_change(logprob, h1, shift)) == np.sign(exact)
        error = np.abs(first / exact - 1)
        for name, mask in chosen.items():
            values = (same[mask].mean(), *np.quantile(error[mask], [0.5, 0.95]), together[mask].mean())
            measures = ("same_sign", "error_median", "error_p95", "together")
            rows += [(name, shift, measure, value) for measure, value in zip(measures, values, strict=True)]
    return pd.DataFrame(rows, columns=["regime", "shift", "measure", "value"])


def breaking_shift(states: pd.DataFrame) -> pd.DataFrame:
    """The shift that breaks the sign of the first-order statement, by p / beta: start, end (edges of RATIOS), `value`.

    `value` is by how many nats the logit must be raised (lowered, from p = beta on) for over 5 % of the bin's states
    to have the other sign; NaN where no shift is enough.
    """
    _, logprob, _, h2 = _known(states)
    turning = np.abs(turning_shift(logprob, h2))

    def breaking(mask: NDArray[np.bool_]) -> float:
        shift = float(np.sort(turning[mask])[int(BREAKS * mask.sum())])
        return shift if np.isfinite(shift) else np.nan

    ratio = np.exp(logprob + h2)
    bins = [(start, end, (ratio >= start) & (ratio < end)) for start, end in pairwise(RATIOS)]
    rows = [(start, end, breaking(mask)) for start, end, mask in bins if mask.sum() >= LEAST]
    return pd.DataFrame(rows, columns=["start", "end", "value"])
