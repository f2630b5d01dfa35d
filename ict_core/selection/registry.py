"""Every selection rule by its name, each imported when it is first asked for."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ict_core.selection.base import Selector


_SHARED = {"base", "registry"}  # the other modules of this folder


def rule_files() -> dict[str, str]:
    """The name of every rule in this folder, and of its module, which has a function of that module's name."""
    modules = {file.stem for file in Path(__file__).parent.glob("[a-z]*.py")} - _SHARED
    return {module.replace("_", "-"): module for module in sorted(modules)}


class _Selectors(Mapping[str, "Selector"]):
    """Every rule by its name; its module is imported when it is first asked for, so a training runs its own rule's."""

    def __getitem__(self, name: str) -> "Selector":
        module = rule_files()[name]
        return getattr(import_module(f"{__package__}.{module}"), module)

    def __iter__(self) -> Iterator[str]:
        return iter(rule_files())

    def __len__(self) -> int:
        return len(rule_files())


SELECTORS = _Selectors()
