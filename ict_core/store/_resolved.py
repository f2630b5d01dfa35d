"""An engine's resolved settings as JSON: every default of a library, as its defaults change between releases."""

import dataclasses
from collections.abc import Mapping
from enum import Enum
from typing import Any

# which process it was, where, and what it held: not a setting
_LEFT_OUT = {"instance_id", "model", "tokenizer", "served_model_name", "static_forward_context"}
_ADDRESSES = ("_ip", "_port", "_ports", "_host", "_addr", "_path", "_dir")


def resolved(value: Any) -> Any:
    """Nested dataclasses, mappings and lists as JSON-able values, without paths, addresses and names of processes.

    Of other objects stands the name of their class.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        names = {str(name): part for name, part in value.items()}
        return {n: resolved(part) for n, part in names.items() if n not in _LEFT_OUT and not n.endswith(_ADDRESSES)}
    if isinstance(value, list | tuple | set | frozenset):
        parts = [resolved(part) for part in value]
        return sorted(parts, key=repr) if isinstance(value, set | frozenset) else parts
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return repr(value)
    if isinstance(value, str):
        return "a path" if value.startswith(("/", "~")) else value
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value) if type(value).__name__ in ("dtype", "device") else type(value).__name__
