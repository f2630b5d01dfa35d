"""What raising one logit does to a distribution's entropies H1 and H2, exactly and to first order.

A distribution pi = softmax(theta) has the token a with the probability p. Raising theta[a] by `shift` divides every
probability by z = 1 + p (e^shift - 1) and multiplies that of a by e^shift. So the change of both entropies follows from
p, the entropy itself and the shift; the other probabilities need not be known. With beta = sum pi^2 = exp(-H2):

    beta' = (beta - p^2 + p^2 e^(2 shift)) / z^2
    H1'   = ln z + (H1 - p (e^shift - 1) ln p - shift p e^shift) / z

The first-order statement about H2 is the theory section's of ICT (arXiv:2606.19771).

Arguments are `logprob` = ln p <= 0, H1 and H2 >= 0 of the distribution, and shifts, all in nats and of shapes that
broadcast; results are float64 of the shape they broadcast to.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def _float(*values: ArrayLike) -> tuple[Array, ...]:
    return tuple(np.asarray(v, dtype=np.float64) for v in values)


def _p_ln_p(logprob: Array) -> Array:
    """p ln p; 0 where p is 0."""
    return np.asarray(np.exp(logprob) * np.maximum(logprob, -1e3))


def _scale(logprob: Array, shift: Array) -> Array:
    """z as a sum of two positive terms, which keeps its digits where p is close to 1 and the shift far below 0."""
    return np.asarray(-np.expm1(logprob) + np.exp(logprob + shift))


def h2_change(logprob: ArrayLike, h2: ArrayLike, shift: ArrayLike) -> Array:
    """The exact change of H2.

    The others' part of beta, beta - p^2, is clipped to 0 and (1 - p)^2, beyond which rounding of p or H2 may put it.
    """
    lp, h, d = _float(logprob, h2, shift)
    others = np.clip(-np.expm1(2 * lp + h), 0.0, np.expm1(lp) ** 2 * np.exp(h))  # over beta
    return np.asarray(2 * np.log(_scale(lp, d)) - np.log(others + np.exp(2 * (lp + d) + h)))


def h1_change(logprob: ArrayLike, h1: ArrayLike, shift: ArrayLike) -> Array:
    """The exact change of H1."""
    lp, h, d = _float(logprob, h1, shift)
    z = _scale(lp, d)
    return np.asarray(np.log(z) + (h - np.expm1(d) * _p_ln_p(lp) - d * np.exp(lp + d)) / z - h)


def first_order_h2_change(logprob: ArrayLike, h2: ArrayLike, shift: ArrayLike) -> Array:
    """The change of H2 to first order in the shift: -2 shift p (p / beta - 1), nats."""
    lp, h, d = _float(logprob, h2, shift)
    return np.asarray(-2 * d * np.exp(lp) * np.expm1(lp + h))


def first_order_h1_change(logprob: ArrayLike, h1: ArrayLike, shift: ArrayLike) -> Array:
    """The change of H1 to first order in the shift: -shift p (ln p + H1), nats."""
    lp, h, d = _float(logprob, h1, shift)
    return np.asarray(-d * (_p_ln_p(lp) + np.exp(lp) * h))


def shift_between(logprob: ArrayLike, logprob_after: ArrayLike) -> Array:
    """The shift of one logit that takes a token's probability from one value to the other: the change of its log-odds.

    Not finite where either probability is 0 or 1.
    """
    before, after = _float(logprob, logprob_after)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(after - before - np.log(np.expm1(after) / np.expm1(before)))


def turning_shift(logprob: ArrayLike, h2: ArrayLike) -> Array:
    """The shift beyond which the sign of the first-order statement about H2, which is above 0, is wrong.

    It is the other zero of the exact change, ln((2 beta - p (1 + beta)) / (p (1 - beta))): above 0 where p < beta,
    below 0 where p > beta. On the other side of 0 the sign is right at every shift, and from p = 2 beta / (1 + beta) on
    it is so on both sides (minus infinity).
    """
    lp, h = _float(logprob, h2)
    p, beta = np.exp(lp), np.exp(-h)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(2 * beta - p * (1 + beta), 0.0)) - lp - np.log(-np.expm1(-h)))
