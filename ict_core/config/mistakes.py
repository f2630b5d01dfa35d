"""Mistakes of the configuration, each in one line: file, key, value, what is allowed."""

import difflib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import ErrorDetails

from ict_core.errors import UserError

_TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "object": "a mapping",
    "null": "null",
}
_MOST = 100  # problems told
_LONGEST = 2000  # characters of one
_BOUNDS = {"exclusiveMinimum": ">", "minimum": ">=", "exclusiveMaximum": "<", "maximum": "<="}

JsonSchema = dict[str, Any]


class Fault(NamedTuple):
    """A key, dotted, and the rest of the sentence about it."""

    key: str
    text: str


def refused(key: str, value: object, allowed: str) -> Fault:
    """That a value is not allowed."""
    return Fault(key, f"{show_value(value)} is not allowed; allowed: {allowed}")


def repeated(key: str, values: Sequence[object]) -> Iterator[Fault]:
    """That an entry of a list stands twice in it, if one does."""
    twice = [str(value) for value, times in Counter(values).items() if times > 1]
    if twice:
        yield refused(key, list(values), f"each entry once ({', '.join(twice)} stands twice)")


class Mistakes:
    """Gathers problems, so that a user reads all of them at once."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, file: Path, key: str, text: str) -> None:
        """Note a problem of one key of one file, in one printable line of readable length.

        Raises:
            UserError: there are so many that no more are looked for.
        """
        whole = f"{shown(file)}: {key}: {text}" if key else f"{shown(file)}: {text}"
        cut = whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 3]}..."
        line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(cut.split()))
        self.lines += [line] if line not in self.lines else []  # a file is read again for each variant of it
        if len(self.lines) == _MOST:
            self.lines.append(f"... and perhaps more: these are the first {_MOST}")
            self.raise_if_any()

    def add_all(self, file: Path, faults: Iterable[Fault]) -> None:
        """Note faults of one file."""
        for key, text in faults:
            self.add(file, key, text)

    def refuse(self, file: Path, key: str, value: object, allowed: str) -> None:
        """Note a value that is not allowed."""
        self.add(file, *refused(key, value, allowed))

    def raise_if_any(self) -> None:
        """Raise a UserError with all that was noted, one line a problem, if there is any."""
        if self.lines:
            raise UserError("\n".join(self.lines))


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


def note_error(mistakes: Mistakes, file: Path, error: ErrorDetails, schema: JsonSchema) -> None:
    """Note one of pydantic's errors about a file that was read under a JSON schema."""
    kind, value, loc = error["type"], error["input"], error["loc"]
    extra = loc[-1] if kind == "extra_forbidden" else None
    node, place = _follow(schema, loc if extra is None else loc[:-1])
    if kind.startswith("union_tag"):
        place.append(error["ctx"]["discriminator"].strip("'"))
        tags, tag = _tags(_definition(node, schema)), error["ctx"].get("tag")
        missing = f"missing; allowed: one of {', '.join(tags)}"
        mistakes.add(file, key_path(place), missing if tag is None else f"{tag!r} is unknown; {closest(tag, tags)}")
    elif extra is not None:
        allowed = closest(str(extra), _definition(node, schema)["properties"])
        mistakes.add(file, key_path([*place, extra]), f"unknown key (its value: {show_value(value)}); {allowed}")
    elif kind == "missing":
        mistakes.add(file, key_path(place), f"missing; allowed: {_describe(node, schema)}")
    elif kind != "too_short" or not value:  # pydantic also calls a list short whose items were refused
        mistakes.refuse(file, key_path(place), value, _describe(node, schema))


def _describe(node: JsonSchema, schema: JsonSchema) -> str:
    """What a part of a JSON schema allows, in words."""
    if "description" in node and "properties" not in node:  # a section's is its docstring
        return str(node["description"])
    node = _referent(node, schema)
    if "const" in node or "enum" in node:
        return "one of " + ", ".join(map(str, node.get("enum", [node.get("const")])))
    if parts := node.get("anyOf", node.get("oneOf")):
        return " or ".join(_describe(part, schema) for part in parts)
    if node["type"] == "array":
        items = node.get("prefixItems")
        number, item = (len(items), items[0]) if items else ("one or more", node["items"])
        return f"a list of {number}, each {_describe(item, schema)}"
    if "properties" in node:
        return f"a mapping with the keys {', '.join(node['properties'])}"
    bounds = [f"{sign} {node[name]}" for name, sign in _BOUNDS.items() if name in node]
    limits = " and ".join([*bounds, "(not empty)"] if "minLength" in node else bounds)
    return f"{_TYPES[node['type']]} {limits}".rstrip()


def _follow(schema: JsonSchema, loc: Sequence[int | str]) -> tuple[JsonSchema, list[int | str]]:
    """What stands at a place of a JSON schema, and the place without the tags that pydantic puts into it."""
    place: list[int | str] = []
    node, names = schema, {"type": "string"}  # names: of the mapping above
    for part in loc:
        node = _definition(node, schema)
        if part in _tags(node):  # a union's tag stands before the key
            node = {"$ref": _tags(node)[str(part)]}
        elif part == "[key]":  # pydantic, of the key before it
            node = names
        else:
            place.append(part)
            if isinstance(part, int):
                items = node.get("prefixItems")
                node = items[min(part, len(items) - 1)] if items else node["items"]
            elif "properties" in node:
                node = node["properties"][part]
            else:
                names = node.get("propertyNames", names)
                node = node.get("additionalProperties") or next(iter(node["patternProperties"].values()))
    return node, place


def _definition(node: JsonSchema, schema: JsonSchema) -> JsonSchema:
    """Its referent, or of a value that may be null and has one other type, that of this type."""
    parts = [part for part in node.get("anyOf", ()) if part != {"type": "null"}]
    return _referent(parts[0] if len(parts) == 1 else node, schema)


def _referent(node: JsonSchema, schema: JsonSchema) -> JsonSchema:
    """What a reference refers to; any other part of a schema is itself."""
    return schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node


def _tags(node: JsonSchema) -> dict[str, str]:
    """References to a union's members by their tags, in the union's order; empty for any other type."""
    tags = {reference: tag for tag, reference in node.get("discriminator", {}).get("mapping", {}).items()}
    return {tags[part["$ref"]]: part["$ref"] for part in node.get("oneOf", ())}
