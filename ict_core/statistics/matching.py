"""The difference of two kinds of tokens among those that are alike in something else."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

STRATA = 10  # deciles


def matched_difference(values: ArrayLike, kept: ArrayLike, matched: ArrayLike, groups: ArrayLike) -> float:
    """The mean of `values` over the kept tokens less that over the dropped ones, which are matched on `matched`.

    Within a group the n tokens are ranked by `matched`; r is a rank from 1 to n, of equal tokens their mean rank. The
    decile of a token is floor(10 (r - 1/2) / n), so that equal tokens stand in one. The estimate is

        sum over strata of n_kept (mean of the kept - mean of the dropped) / sum over strata of n_kept,

    a stratum being a decile of a group that has both kinds: kept tokens without a dropped one beside them are left out.
    NaN where no stratum has both.

    Args:
        values: any unit, in which the estimate is; shape (tokens,), as all others.
        kept: bool.
        matched: what kept and dropped tokens shall be alike in, finite.
        groups: of each token its group, of any kind that sorts.
    """
    columns = {"value": values, "kept": kept, "matched": matched, "group": groups}
    frame = pd.DataFrame({name: np.asarray(column) for name, column in columns.items()})
    of_group = frame.groupby("group")["matched"]
    decile = np.floor(STRATA * (of_group.rank() - 0.5) / of_group.transform("size"))
    strata = frame.assign(decile=decile).groupby(["group", "decile", "kept"])["value"].agg(["mean", "size"])
    means, sizes = (strata[name].unstack("kept").reindex(columns=[True, False]) for name in ("mean", "size"))
    both = means.notna().all(axis=1)
    if not both.any():
        return float("nan")
    return float(np.average((means[True] - means[False])[both], weights=sizes.loc[both, True]))
