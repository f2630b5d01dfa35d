"""Fieller's limits of a ratio of paired means, found by inverting scipy's t-test."""

from scipy import optimize, stats


def inverted(ours, theirs):
    """The ratios at which scipy's t-test of ours - r theirs has p = 0.05, on either side of the estimate."""
    ratio = ours.mean() / theirs.mean()

    def excess(r):
        return stats.ttest_1samp(ours - r * theirs, 0).pvalue - 0.05

    return optimize.brentq(excess, ratio - 5, ratio), optimize.brentq(excess, ratio, ratio + 5)
