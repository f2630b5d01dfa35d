"""Corrections for many tests: Holm's for a declared family, Benjamini and Hochberg's for an exploratory one."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from statsmodels.stats.multitest import multipletests


def _adjusted(p: ArrayLike, method: str) -> NDArray[np.float64]:
    """Adjusted p values; a missing one counts as 1 and stays missing."""
    raw = np.asarray(p, dtype=np.float64)
    absent = np.isnan(raw)
    if ((raw < 0) | (raw > 1)).any():
        raise ValueError(f"p values must lie in [0, 1]: {raw[~absent].min()} to {raw[~absent].max()}")
    if raw.size == 0:
        return raw
    adjusted = multipletests(np.where(absent, 1.0, raw), method=method)[1]
    return np.where(absent, np.nan, adjusted)


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Holm's step-down adjusted p values (Holm 1979), which bound the chance of any false rejection in the family.

    A test that could not be made (NaN) stays NaN but still counts: the family was declared before the data, and a
    missing test must not make the others easier.

    Args:
        p: p values of the whole family, shape (tests,); NaN where there is no test.

    Returns:
        Adjusted p values, shape (tests,), NaN where `p` is.

    Raises:
        ValueError: a p value lies outside [0, 1].
    """
    return _adjusted(p, "holm")


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """Step-up adjusted p values (Benjamini and Hochberg 1995), which bound the expected share of false rejections.

    The bound holds for tests that are independent or positively dependent. A test that could not be made (NaN) stays
    NaN but still counts, as in :func:`holm`.

    Args:
        p: p values of the whole family, shape (tests,); NaN where there is no test.

    Returns:
        Adjusted p values, shape (tests,), NaN where `p` is.

    Raises:
        ValueError: a p value lies outside [0, 1].
    """
    return _adjusted(p, "fdr_bh")
