"""Mistakes in the configuration, one line each: file, key, value, what is allowed."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ict_core.errors import UserError, visible

_MOST, _LONGEST = 50, 3000  # the maximum number of lines, and of characters in a line


class Fault(NamedTuple):
    """A dotted key and the text of the message about it."""

    key: str
    text: str


def refused(key: str, value: object, allowed: str) -> Fault:
    """The fault that a value is not allowed."""
    return Fault(key, f"{show_value(value)} is not allowed; allowed: {allowed}")


def repeated(key: str, values: Sequence[object]) -> Iterator[Fault]:
    """The fault that a list has an entry more than once, if it has one."""
    twice = [str(value) for value, times in Counter(values).items() if times > 1]
    if twice:
        yield refused(key, list(values), f"each entry once ({', '.join(twice)} stands twice)")


class Mistakes:
    """Collects problems, so that a user reads all of them at once, or the first :data:`_MOST`."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, file: Path, *faults: Fault) -> None:
        """Note faults of one file, each in one line."""
        for key, text in faults:
            message = " ".join(f"{shown(file)}: {f'{key[:100]}: ' if key else ''}{text}".split())[:_LONGEST]
            line = visible(message)
            if line not in self.lines:  # a file is read again for each variant that varies it
                self.lines.append(line)
            if len(self.lines) == _MOST:
                self.raise_if_any()

    def raise_if_any(self) -> None:
        """Raise a UserError with all noted problems, one line each, if there are any."""
        if self.lines:
            raise UserError("\n".join(self.lines))


def shown(path: Path) -> str:
    """A path as a user would type it from the working directory."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - unlike resolve(), it keeps the names of links
    return str(absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else path)


def show_value(value: object) -> str:
    """A value from a file, cut to a readable length."""
    text = "null" if value is None else repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


def key_path(loc: Sequence[int | str]) -> str:
    """('grid', 0, 'seeds') as `grid[0].seeds`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).removeprefix(".")


def one_of(words: Iterable[str]) -> str:
    """The allowed words, as a message lists them."""
    return f"allowed: {', '.join(sorted(words)) or 'none (there is no file)'}"


def faults_of(error: ValidationError, schema: Any) -> Iterator[Fault]:
    """The faults that pydantic found in a value of the type `schema`, each under its dotted key."""
    for detail in error.errors():
        kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
        place, sections, field = _follow(schema, detail["loc"])
        if kind == "faults":
            yield from (Fault(key_path([*place, key]), text) for key, text in context["faults"])
        elif kind.startswith("union_tag"):
            field_name = context["discriminator"].strip("'_()")  # of a key, or of a function with its name
            tags = ", ".join(get_args(section.model_fields[field_name].annotation)[0] for section in sections)
            key = key_path([*place, field_name])
            yield refused(key, value[field_name], tags) if "tag" in context else Fault(key, f"missing; allowed: {tags}")
        elif kind == "extra_forbidden":
            text = f"unknown key (its value: {show_value(value)}); {one_of(sections[0].model_fields)}"
            yield Fault(key_path(place), text)
        elif kind == "missing":
            yield Fault(key_path(place), f"missing; allowed: {(field and field.description) or 'see docs/keys.md'}")
        elif kind != "too_short" or not value:  # a list with refused items is too short for pydantic too
            allowed = (field and field.description) or detail["msg"].removeprefix("Input should be ")
            yield refused(key_path(place), value, allowed)


def _follow(schema: Any, loc: Sequence[int | str]) -> tuple[list[int | str], list[type[BaseModel]], FieldInfo | None]:
    """Pydantic's location without tags of unions, the sections allowed there (else around it), its field, if any."""
    place: list[int | str] = []
    sections, field = _sections(schema), None
    for part in loc:
        if isinstance(part, int):
            place.append(part)
            field = None
        elif len(sections) > 1:  # a tag of a union
            sections = [
                kind for kind in sections if any(part in get_args(f.annotation) for f in kind.model_fields.values())
            ]
        elif part != "[key]":  # with which pydantic marks the part before it as a key
            place.append(part)
            field = sections[0].model_fields.get(part) if sections else None
            sections = (field and _sections(field.annotation)) or sections
    return place, sections, field


def _sections(kind: Any) -> list[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    return [section for part in get_args(kind) for section in _sections(part)]
