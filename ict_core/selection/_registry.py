"""Every selection rule by its name, each imported when it is first asked for."""

import functools
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ict_core.selection._base import Selector

_REGISTERED = re.compile(r'^@register\("([^"]+)"\)', re.MULTILINE)


@functools.cache
def rule_files() -> dict[str, str]:
    """The name of every rule in this folder, and of the module that registers it.

    Raises:
        ValueError: two modules register one name.
    """
    files: dict[str, str] = {}
    for file in sorted(Path(__file__).parent.glob("*.py")):
        for name in _REGISTERED.findall(file.read_text(encoding="utf-8")):
            if name in files:
                raise ValueError(f"two selection rules are named {name!r}")
            files[name] = file.stem
    return files


class _Selectors(Mapping[str, "Selector"]):
    """Every rule by its name; its module is imported when it is first asked for, so a training runs its own rule's."""

    def __getitem__(self, name: str) -> "Selector":
        from ict_core.selection._base import registered

        if name not in registered and name in rule_files():
            import_module(f"{__package__}.{rule_files()[name]}")
        return registered[name]

    def __iter__(self) -> Iterator[str]:
        return iter(rule_files())

    def __len__(self) -> int:
        return len(rule_files())


SELECTORS = _Selectors()
