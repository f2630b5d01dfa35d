"""All selection rules by name; each is imported when it is first used."""

from collections.abc import Iterator, Mapping
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


class _Selectors(Mapping[str, "Selector"]):
    """All rules by name; a module is imported at its first use, so that a training imports only its own rule."""

    def __getitem__(self, name: str) -> "Selector":
        module = rule_files()[name]
        return getattr(import_module(f"{__package__}.{module}"), module)

    def __iter__(self) -> Iterator[str]:
        return iter(rule_files())

    def __len__(self) -> int:
        return len(rule_files())


SELECTORS = _Selectors()
