"""One mean over strata (models) that were run independently of each other."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ict_core.errors import UserError
from ict_core.statistics.intervals import LEVEL, Estimate, student


def stratified_t(differences: Sequence[NDArray[np.float64]], level: float = LEVEL) -> Estimate:
    """The mean over strata of the strata's mean differences, with Student's interval for new runs.

    Every stratum weighs the same, whatever its seeds. The squared standard error is the sum of the strata's s^2 / S
    over M^2, with Satterthwaite's (1946) degrees of freedom; its variances need not be equal. The two one-sided tests
    of the mean are `equivalence.two_one_sided` of its mean, se and df.

    Args:
        differences: of each stratum the paired differences, shape (seeds of the stratum,), finite.
        level: coverage in (0, 1).

    Returns:
        Arrays of shape (); no interval where a stratum has one seed, or without any spread.

    Raises:
        UserError: a value of a run is not finite.
        ValueError: no stratum, one without values, or a level outside (0, 1).
    """
    strata = [np.asarray(values, dtype=np.float64) for values in differences]
    if not strata or any(s.ndim != 1 or s.size == 0 for s in strata):
        raise ValueError(f"a mean over strata needs a list of values in each stratum, not {[s.shape for s in strata]}")
    if not all(np.isfinite(s).all() for s in strata):
        raise UserError("a mean over strata needs finite values; a run has another")
    mean = np.mean([s.mean() for s in strata])
    if min(s.size for s in strata) == 1:
        return student(mean, np.nan, np.nan, level)
    parts = np.array([s.var(ddof=1) / s.size for s in strata]) / len(strata) ** 2
    square = float((parts**2 / np.array([s.size - 1 for s in strata])).sum())
    df = parts.sum() ** 2 / square if square > 0 else np.nan
    return student(mean, parts.sum(), df, level, max(float(np.abs(s).max()) for s in strata))
