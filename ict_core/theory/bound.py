"""How probable the tokens are that a rule keeps, if it looks at distributions alone."""

import math


def least_probability(share: float, h1: float) -> float:
    """The least mean probability of drawn tokens, of which a share has an entropy H1 of at most ``h1``, nats.

    Of a token a drawn from p the mean of p(a) is beta = sum p^2. As exp is convex, beta = sum p exp(ln p) >= exp(-H1)
    (equal where p is uniform). Tokens above ``h1`` add at least 0, so the mean is share * exp(-h1) or more. This holds
    for every choice that does not depend on the token drawn. Above a probability P it leaves h1 >= ln(share / P).
    """
    return share * math.exp(-h1)
