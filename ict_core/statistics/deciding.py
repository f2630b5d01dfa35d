"""The one test that decides, and the words for what it finds: of contrasts and of the claims of the ledger alike.

Below :data:`SIGN_FLIP_FROM` seeds Student's t over the paired differences decides, from there the sign-flip test
(docs/statistics.md, "Which test decides"). A difference's verdict says what was found; a claim's says whether that is
what the claim predicts.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ict_core.seeding import generator
from ict_core.statistics.permutation import sign_flip

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


def p_of_sign_flip(differences: ArrayLike) -> NDArray[np.float64]:
    """:func:`sign_flip`, whose random flips, where they are needed, depend on nothing but the number of pairs.

    Args:
        differences: paired, shape (..., pairs), finite.

    Returns:
        Two-sided p, shape (...).

    Raises:
        UserError: no value, or one that is not finite.
    """
    values = np.asarray(differences, dtype=np.float64)
    return sign_flip(values, generator(0, "sign-flips", values.shape[-1]))


def deciding_p(seeds: ArrayLike, p_t: ArrayLike, p_sign_flip: ArrayLike) -> NDArray[np.float64]:
    """The p of the test that decides with so many seeds; shapes broadcast."""
    return np.where(deciding_test(seeds) == SIGN_FLIP, p_sign_flip, p_t)


def p_of_strata(strata: Sequence[NDArray[np.float64]], p_t: float) -> float:
    """The deciding p of a mean of 0 over strata (models) that each weigh the same.

    Args:
        strata: the differences of each, shape (seeds of the stratum,), finite. Every sign may flip on its own.
        p_t: of `stratified.stratified_t`.
    """
    if deciding_test(min(map(len, strata))) == PAIRED_T:
        return p_t
    runs = sum(map(len, strata))
    weighed = [values * (runs / (len(strata) * len(values))) for values in strata]  # their mean is that of the strata
    return float(p_of_sign_flip(np.concatenate(weighed)))


def finding(toward: ArrayLike, p_adjusted: ArrayLike, p_equivalence: ArrayLike) -> NDArray[np.str_]:
    """What tests found: `toward`, else :data:`EQUIVALENT`, else nothing, which is :data:`UNDERPOWERED`.

    Args:
        toward: what a small p shows, such as :data:`BETTER`.
        p_adjusted: of the deciding test, corrected for its family; NaN where there is no test.
        p_equivalence: the larger of two one-sided p values for lying within the margin; NaN where there is none.

    Returns:
        Verdicts, shape as broadcast.
    """
    equivalent = np.where(np.less(p_equivalence, ALPHA), EQUIVALENT, UNDERPOWERED)
    return np.where(np.less(p_adjusted, ALPHA), toward, equivalent)


def claim_verdict(predicted: str, found: str) -> str:
    """The verdict on a claim, given the finding that it predicts and the one that was made."""
    if found == predicted:
        return SUPPORTED
    return CONTRADICTED if found in (BETTER, WORSE, EQUIVALENT) else NOT_RESOLVED
