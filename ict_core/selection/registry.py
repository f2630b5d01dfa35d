"""All selection rules by name; each is imported when it is first used."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ict_core.selection.base import Selector


_SHARED = {"base", "registry"}  # the other modules of this folder


def rule_files() -> dict[str, str]:
    """The module of every rule in this folder, by the rule's name; its function has the module's name."""
    modules = {file.stem for file in Path(__file__).parent.glob("[a-z]*.py")} - _SHARED
    return {module.replace("_", "-"): module for module in sorted(modules)}


def selector(name: str) -> "Selector":
    """The rule of that name; only its own module is imported."""
    module = rule_files()[name]
    rule: Selector = getattr(import_module(f"{__package__}.{module}"), module)
    return rule
