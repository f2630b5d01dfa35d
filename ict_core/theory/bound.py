"""A bound on the probability of the tokens that a rule keeps, if the rule depends on distributions alone."""

import math


def least_probability(share: float, h1: float) -> float:
    """A lower bound on the mean probability of drawn tokens if a share of them has an entropy H1 <= ``h1``, nats.

    For a token a drawn from p, the mean of p(a) is beta = sum p^2. As exp is convex, beta = sum p exp(ln p) >= exp(-H1)
    (equal where p is uniform). Tokens above ``h1`` add at least 0, so the mean is share * exp(-h1) or more. This holds
    for every choice that does not depend on the token drawn. If the mean is at most P, then h1 >= ln(share / P).
    """
    return share * math.exp(-h1)
