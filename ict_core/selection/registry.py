"""All selection rules by name; each is imported when it is first used."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ict_core.errors import UserError

if TYPE_CHECKING:
    from ict_core.selection.base import Selector


_SHARED = {"base", "registry"}  # the other modules of this folder


def rule_files() -> dict[str, str]:
    """The module of every rule in this folder, by the rule's name; its function has the module's name."""
    modules = {file.stem for file in Path(__file__).parent.glob("[a-z]*.py")} - _SHARED
    return {module.replace("_", "-"): module for module in sorted(modules)}


def rule_module(name: str) -> str:
    """The module of the rule of that name; a UserError if there is none."""
    modules = rule_files()
    if name not in modules:
        raise UserError(f"selector: {name!r} has no file in {Path(__file__).parent}; allowed: {', '.join(modules)}")
    return modules[name]


def selector(name: str) -> "Selector":
    """The rule of that name; only its own module is imported."""
    module = rule_module(name)
    rule: Selector = getattr(import_module(f"{__package__}.{module}"), module)
    return rule
