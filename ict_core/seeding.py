"""Seeds derived from (seed, purpose, index), so that no two streams share a state."""

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def derive_seed(seed: int, purpose: str, *index: int | str) -> int:
    """A 31-bit seed for one purpose, independent of every other purpose and index.

    31 bits because that is what every consumer here (torch, numpy, vLLM, transformers) accepts.

    Args:
        seed: the cell's seed.
        purpose: what is drawn, for example ``"rollout"``.
        index: further coordinates, for example the optimiser step.
    """
    text = "\x1f".join([str(seed), purpose, *(f"{type(i).__name__}:{i}" for i in index)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def generator(seed: int, purpose: str, *index: int | str) -> "np.random.Generator":
    """A numpy generator seeded by :func:`derive_seed`."""
    import numpy as np  # here, as the configuration derives seeds and draws nothing

    return np.random.default_rng(derive_seed(seed, purpose, *index))
