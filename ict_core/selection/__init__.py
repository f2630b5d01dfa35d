"""Selection rules: each a free function of token statistics, advantages and mask, named in a registry."""

from ict_core.selection import all_tokens, high_entropy, stapo, top_score
from ict_core.selection.base import SELECTORS, Selector

__all__ = ["SELECTORS", "Selector", "all_tokens", "high_entropy", "stapo", "top_score"]
