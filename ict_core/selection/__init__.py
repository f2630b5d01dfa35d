"""Selection rules: each a free function of token statistics, advantages and mask, in a file of this folder."""

from importlib import import_module
from pkgutil import iter_modules

from ict_core.selection.base import SELECTORS, Selector

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")  # which registers its rules

__all__ = ["SELECTORS", "Selector"]
