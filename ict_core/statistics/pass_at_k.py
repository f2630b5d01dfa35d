"""The unbiased estimator of pass@k."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def pass_at_k(n: ArrayLike, c: ArrayLike, k: int) -> NDArray[np.float64]:
    """Probability that at least one of k samples, drawn without return from the n at hand, is correct.

    1 - C(n-c, k) / C(n, k) (Chen et al. 2021, arXiv:2107.03374), as the product of the k ratios
    (n-c-j) / (n-j), so that no factorial is formed.

    Args:
        n: samples graded of each problem, integers of any shape.
        c: samples correct of each problem, integers, broadcast against `n`.
        k: samples that the user of the model may draw.

    Returns:
        Shares in [0, 1], of the broadcast shape.

    Raises:
        ValueError: k < 1, n < k, c < 0, c > n, or a count is not an integer.
    """
    graded, correct = np.asarray(n), np.asarray(c)
    if graded.dtype.kind not in "iu" or correct.dtype.kind not in "iu":
        raise ValueError(f"pass@{k}: n and c are counts and must be integers, not {graded.dtype} and {correct.dtype}")
    graded, correct = np.broadcast_arrays(graded.astype(np.int64), correct.astype(np.int64))
    if k < 1:
        raise ValueError(f"pass@{k}: k must be at least 1")
    if (graded < k).any():
        raise ValueError(f"pass@{k}: needs n >= k samples of every problem, the smallest n is {graded.min()}")
    if (correct < 0).any() or (correct > graded).any():
        raise ValueError(f"pass@{k}: 0 <= c <= n is broken, c reaches from {correct.min()} to {correct.max()}")
    none_correct = np.ones(graded.shape)
    for drawn in range(k):  # a loop over k, so that no array of k times the size is formed
        none_correct *= np.maximum(graded - correct - drawn, 0) / (graded - drawn)
    return np.asarray(1.0 - none_correct)
