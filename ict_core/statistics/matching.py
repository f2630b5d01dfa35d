"""The difference between two kinds of tokens that are matched on another quantity."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

STRATA = 10  # deciles


def matched_difference(values: ArrayLike, kept: ArrayLike, matched: ArrayLike, groups: ArrayLike) -> float:
    """The mean of `values` over the kept tokens less the mean over dropped tokens that are similar in `matched`.

    Within a group the n tokens are ranked by `matched`. The rank r is from 1 to n, and equal tokens have their mean
    rank. The decile of a token is floor(10 (r - 1/2) / n), so that equal tokens are in the same one. The estimate is

        sum over strata of n_kept (mean of the kept - mean of the dropped) / sum over strata of n_kept,

    where a stratum is a decile of a group that has both kinds. Kept tokens in a decile without dropped tokens are left
    out. NaN if no stratum has both.

    Args:
        values: in any unit, which is that of the estimate; shape (tokens,), as all others.
        kept: bool.
        matched: the quantity in which kept and dropped tokens should be similar, finite.
        groups: the group of each token, of any sortable type.
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
