"""Mistakes of the configuration, each in one line: file, key, value, what is allowed."""

import difflib
import os
import types
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from ict_core.errors import UserError

_SCALARS = {int: "a whole number", float: "a number", Decimal: "a number", str: "a text", bool: "true or false"}
_MOST = 100  # problems told
_LONGEST = 2000  # characters of one
_BOUNDS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}


class Mistakes:
    """Gathers problems, so that a user reads all of them at once."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, file: Path, key: str, text: str) -> None:
        """Note a problem of one key of one file.

        Raises:
            UserError: there are so many that no more are looked for.
        """
        self.lines.append(one_line(f"{shown(file)}: {key}: {text}" if key else f"{shown(file)}: {text}"))
        if len(self.lines) == _MOST:
            self.lines.append(f"... and perhaps more: these are the first {_MOST}")
            self.raise_if_any()

    def refuse(self, file: Path, key: str, value: object, allowed: str) -> None:
        """Note a value that is not allowed."""
        self.add(file, key, f"{show_value(value)} is not allowed; allowed: {allowed}")

    def raise_if_any(self) -> None:
        """Raise all that was noted.

        Raises:
            UserError: something was noted; the message has one line a problem.
        """
        if self.lines:
            raise UserError("\n".join(self.lines))


def one_line(text: str) -> str:
    """A text in one printable line of readable length, whatever a file brought into it."""
    cut = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(cut.split()))


def shown(path: Path) -> str:
    """A path as a user would type it from here."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - unlike resolve(), it keeps the names of links
    return str(whole.relative_to(Path.cwd()) if whole.is_relative_to(Path.cwd()) else path)


def repository(file: Path) -> Path:
    """The folder at which the relative paths of a file of `configs/<kind>/` start, and in which they stay."""
    return Path(os.path.realpath(file)).parent.parent.parent


def show_value(value: object) -> str:
    """A value from a file, cut to a readable length."""
    text = "null" if value is None else repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def key_path(loc: Sequence[int | str]) -> str:
    """('grid', 0, 'seeds') as `grid[0].seeds`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).removeprefix(".")


def closest(word: str, words: Iterable[str]) -> str:
    """The known words, after those that come closest to an unknown one."""
    known = sorted(words)
    near = difflib.get_close_matches(word, known, n=2)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return f"{hint}allowed: {', '.join(known) or 'none (there is no file)'}"


def note_error(mistakes: Mistakes, file: Path, error: ErrorDetails, schema: Any) -> None:
    """Note one of pydantic's errors about a file that was read as `schema`."""
    kind, value = error["type"], error["input"]
    at, loc = _follow(schema, error["loc"][:-1] if kind == "extra_forbidden" else error["loc"])
    if kind.startswith("union_tag"):
        tags = _union_members(at)
        key = key_path([*loc, error["ctx"]["discriminator"].strip("'")])
        if kind == "union_tag_not_found":
            mistakes.add(file, key, f"missing; allowed: one of {', '.join(tags)}")
        else:
            tag = error["ctx"]["tag"]
            mistakes.add(file, key, f"{tag!r} is unknown; {closest(tag, tags)}")
    elif kind == "extra_forbidden":
        extra = error["loc"][-1]
        allowed = closest(str(extra), _fields(at))
        mistakes.add(file, key_path([*loc, extra]), f"unknown key (its value: {show_value(value)}); {allowed}")
    elif kind == "missing":
        mistakes.add(file, key_path(loc), f"missing; allowed: {describe(at)}")
    elif kind != "too_short" or not value:  # pydantic also calls a list short whose items were refused
        mistakes.refuse(file, key_path(loc), value, describe(at))


def describe(schema: Any) -> str:
    """What a type allows, in words."""
    kind, notes = _unwrap(schema)
    for note in notes:
        if isinstance(note, FieldInfo) and note.description:
            return note.description
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, get_args(kind)))
    if get_origin(kind) in (Union, types.UnionType):
        return " or ".join("null" if part is type(None) else describe(part) for part in get_args(kind))
    if get_origin(kind) is tuple:
        inner = get_args(kind)
        number = "one or more" if inner[-1] is Ellipsis else str(len(inner))
        return f"a list of {number}, each {describe(inner[0])}"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return f"a mapping with the keys {', '.join(kind.model_fields)}"
    return f"{_SCALARS.get(kind, 'a mapping')}{_bounds(notes)}"


def _bounds(notes: Iterable[Any]) -> str:
    flat = [part for note in notes for part in (note.metadata if isinstance(note, FieldInfo) else [note])]
    bounds = [f"{sign} {getattr(n, name)}" for name, sign in _BOUNDS.items() for n in flat if hasattr(n, name)]
    if any(getattr(note, "min_length", 0) for note in flat):
        bounds.append("(not empty)")
    return " " + " and ".join(bounds) if bounds else ""


def _unwrap(schema: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without its `Annotated`, and what was annotated."""
    notes: tuple[Any, ...] = ()
    while get_origin(schema) is Annotated:
        schema, *more = get_args(schema)
        notes += tuple(more)
    return schema, notes


def _fields(schema: Any) -> dict[str, FieldInfo]:
    kind, _ = _unwrap(schema)
    return dict(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else {}


def _follow(schema: Any, loc: Sequence[int | str]) -> tuple[Any, list[int | str]]:
    """The type that stands at a place inside another, and the place without the tags that pydantic puts into it."""
    place: list[int | str] = []
    keys: Any = str  # of the mapping above
    for part in loc:
        schema = _without_none(schema)
        tags = _union_members(schema)
        if part in tags:  # a union's tag stands before the key
            schema = tags[str(part)]
            continue
        if part == "[key]":  # pydantic, of the key before it
            schema = keys
            continue
        place.append(part)
        kind, _ = _unwrap(schema)
        if get_origin(kind) is dict:
            keys, schema = get_args(kind)
        elif isinstance(part, int):
            inner = get_args(kind)
            schema = inner[0] if inner[-1] is Ellipsis else inner[min(part, len(inner) - 1)]
        else:
            field = _fields(schema)[part]
            schema = Annotated[field.annotation, field]
    return _without_none(schema) if _union_members(_without_none(schema)) else schema, place


def _without_none(schema: Any) -> Any:
    """`X | None` as X, so that what stands inside is found; other types as they are."""
    kind, _ = _unwrap(schema)
    if get_origin(kind) in (Union, types.UnionType):
        parts = [part for part in get_args(kind) if part is not type(None)]
        if len(parts) == 1:
            return parts[0]
    return schema


def _union_members(schema: Any) -> dict[str, Any]:
    """A discriminated union's members by their tag; empty for any other type."""
    kind, notes = _unwrap(schema)
    for note in notes:
        if isinstance(note, FieldInfo) and isinstance(note.discriminator, str):
            members = get_args(kind)
            return {get_args(m.model_fields[note.discriminator].annotation)[0]: m for m in members}
    return {}
