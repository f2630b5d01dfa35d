"""All selection rules by name; each is imported when it is first used."""

import functools
import re
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
    """The module of the rule of that name; a UserError if there is none, or none that defines its function."""
    modules, folder = rule_files(), Path(__file__).parent
    if name not in modules:
        raise UserError(f"selector: {name!r} has no file in {folder}; allowed: {', '.join(modules)}")
    file = folder / f"{modules[name]}.py"
    if not re.search(rf"^def {file.stem}\(", file.read_text(encoding="utf-8"), re.MULTILINE):
        raise UserError(f"selector: {name!r}: {file} defines no function {file.stem}, which is to be the rule")
    return file.stem


@functools.cache
def selector(name: str) -> "Selector":
    """The rule of that name; only its own module is imported."""
    module = rule_module(name)
    rule: Selector = getattr(import_module(f"{__package__}.{module}"), module)
    return rule
