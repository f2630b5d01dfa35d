"""The one test that decides, its corrections for many tests, and the words for what it finds.

Below :data:`SIGN_FLIP_FROM` seeds Student's t over the paired differences decides, from there the sign-flip test, of
contrasts and of the ledger's claims alike (docs/statistics.md, "Which test decides"). A difference's verdict says what
was found; a claim's says whether that is what the claim predicts.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from ict_core.errors import UserError
from ict_core.seeding import generator
from ict_core.statistics._intervals import Floats
from ict_core.statistics._permutation import sign_flip

ALPHA = 0.05
SIGN_FLIP_FROM = 10  # seeds from which the exact sign-flip decides; below, its floor leaves a corrected test no chance
PAIRED_T, SIGN_FLIP = "paired t", "sign-flip"

BETTER, WORSE, EQUIVALENT = "better", "worse", "equivalent"  # what is found
UNDERPOWERED, NO_SPREAD, IDENTICAL, ONE_SEED = "underpowered", "no spread", "identical", "one seed"  # or why nothing is
VERDICTS = (BETTER, WORSE, EQUIVALENT, UNDERPOWERED, NO_SPREAD, IDENTICAL, ONE_SEED)

SUPPORTED, CONTRADICTED = "supported", "contradicted"
NOT_RESOLVED, NOT_TESTED = "not resolved", "not tested in this study"
PREDICTED = {"higher": BETTER, "lower": WORSE, "equal": EQUIVALENT}
"""What a claim that names this direction predicts that a test finds."""


def deciding_test(seeds: ArrayLike) -> NDArray[np.str_]:
    """The name of the test that decides with so many seeds, shape as given."""
    return np.where(np.asarray(seeds) >= SIGN_FLIP_FROM, SIGN_FLIP, PAIRED_T)


def p_of_sign_flip(differences: ArrayLike) -> Floats:
    """:func:`sign_flip`, whose random flips, where they are needed, depend on nothing but the number of pairs."""
    values = np.asarray(differences, dtype=np.float64)
    return sign_flip(values, generator(0, "sign-flips", values.shape[-1]))


def deciding_p(seeds: ArrayLike, p_t: ArrayLike, p_sign_flip: ArrayLike) -> Floats:
    """The p of the test that decides with so many seeds; shapes broadcast."""
    return np.where(deciding_test(seeds) == SIGN_FLIP, p_sign_flip, p_t)


def p_of_strata(strata: Sequence[Floats], p_t: float) -> float:
    """The deciding p of a mean of 0 over strata (models) that each weigh the same; every sign may flip on its own.

    From the differences of each, shape (seeds of the stratum,), and the p of `intervals.stratified_t`.
    """
    if deciding_test(min(map(len, strata))) == PAIRED_T:
        return p_t
    runs = sum(map(len, strata))
    weighed = [values * (runs / (len(strata) * len(values))) for values in strata]  # their mean is that of the strata
    return float(p_of_sign_flip(np.concatenate(weighed)))


def two_one_sided(estimate: ArrayLike, se: ArrayLike, df: ArrayLike, low: float, high: float) -> Floats:
    """The larger p of two one-sided t-tests, that a mean is not above `low` and not below `high` (Schuirmann 1987).

    A small p shows that the mean, `estimate` with its standard error and degrees of freedom, shape (...), lies within
    the limits, which are in its unit: the methods are equivalent for them. NaN where `se` is.

    Raises:
        UserError: the lower limit is not below the upper one.
    """
    if not low < high:
        raise UserError(f"equivalence limits {low} to {high}: the lower must lie below the upper")
    mean, error, free = (np.asarray(a, dtype=np.float64) for a in (estimate, se, df))
    above_low, below_high = stats.t.sf((mean - low) / error, free), stats.t.cdf((mean - high) / error, free)
    return np.asarray(np.maximum(above_low, below_high))


def _adjusted(p: ArrayLike, method: str) -> Floats:
    """Adjusted p values, shape (tests,). A test that could not be made (NaN) stays NaN but counts as one with p = 1.

    So a missing test does not make the others easier: the family was declared before the data.
    """
    raw = np.asarray(p, dtype=np.float64)
    absent = np.isnan(raw)
    if ((raw < 0) | (raw > 1)).any():
        raise ValueError(f"p values must lie in [0, 1]: {raw[~absent].min()} to {raw[~absent].max()}")
    if raw.size == 0:
        return raw
    return np.where(absent, np.nan, multipletests(np.where(absent, 1.0, raw), method=method)[1])


def holm(p: ArrayLike) -> Floats:
    """Holm's (1979) step-down adjusted p values, which bound the chance of any false rejection in the family.

    Of the whole family, shape (tests,); NaN where there is no test. A p outside [0, 1] is a ValueError.
    """
    return _adjusted(p, "holm")


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Benjamini and Hochberg's (1995) step-up adjusted p values, which bound the expected share of false rejections.

    The bound holds for tests that are independent or positively dependent; otherwise as :func:`holm`.
    """
    return _adjusted(p, "fdr_bh")


def finding(toward: ArrayLike, p_adjusted: ArrayLike, p_equivalence: ArrayLike) -> NDArray[np.str_]:
    """What tests found: `toward`, else :data:`EQUIVALENT`, else nothing, which is :data:`UNDERPOWERED`.

    `toward` is what a small `p_adjusted`, of the deciding test corrected for its family, shows, such as :data:`BETTER`;
    `p_equivalence` is of :func:`two_one_sided` for the margin. A NaN is no test; shapes broadcast.
    """
    equivalent = np.where(np.less(p_equivalence, ALPHA), EQUIVALENT, UNDERPOWERED)
    return np.where(np.less(p_adjusted, ALPHA), toward, equivalent)


def claim_verdict(predicted: str, found: str) -> str:
    """The verdict on a claim, given the finding that it predicts and the one that was made."""
    if found == predicted:
        return SUPPORTED
    return CONTRADICTED if found in (BETTER, WORSE, EQUIVALENT) else NOT_RESOLVED
