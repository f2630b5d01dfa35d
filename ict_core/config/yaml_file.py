"""Reads one YAML file as one section."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from ict_core.config.problems import Problems, closest, key_path, note_error


class _Loader(yaml.SafeLoader):
    """YAML's safe subset, where `3e-4` is a number (PyYAML alone asks for `3.0e-4` and reads a text)."""


_EXPONENT = re.compile(r"^[-+]?\d+(\.\d*)?[eE][-+]?\d+$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("-+0123456789"))


def read_section(file: Path, schema: Any, problems: Problems) -> Any:
    """A file's content as an instance of `schema`; None where a problem was noted."""
    try:
        content = _read(file, problems)
    except FileNotFoundError:
        return problems.add(
            file, "", f"no such file; {closest(file.stem, (f.stem for f in file.parent.glob('*.yaml')))}"
        )
    except yaml.MarkedYAMLError as error:
        place = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        return problems.add(file, "", f"not YAML: {error.problem}{place}")
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        return problems.add(file, "", f"cannot be read: {' '.join(str(error).split())}")
    except RecursionError:
        return problems.add(file, "", "is nested too deep, or an alias holds itself; allowed: no aliases")
    if content is None:
        return None
    try:  # through JSON: its strict mode knows lists and numbers but converts no text
        return TypeAdapter(schema).validate_json(content)
    except ValidationError as error:
        for detail in error.errors():
            note_error(problems, file, detail, schema)
        return None


def _read(file: Path, problems: Problems) -> str | None:
    """A YAML file as JSON; None where a key was noted that stands twice or is no text."""
    loader = _Loader(file.read_text(encoding="utf-8"))
    try:
        node = loader.get_single_node()
        faults = list(_key_faults(node, ()))
        for key, text in faults:
            problems.add(file, key, text)
        return None if faults else json.dumps(loader.construct_document(node) if node else None, default=str)
    finally:
        loader.dispose()


def _key_faults(node: yaml.Node | None, loc: tuple[int | str, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _key_faults(item, (*loc, index))
    if not isinstance(node, yaml.MappingNode):
        return
    seen = set()
    for key, value in node.value:
        here, line = (*loc, str(key.value)), key.start_mark.line + 1
        if key.tag != "tag:yaml.org,2002:str":
            yield key_path(here), f"a key in line {line} that is no text; allowed: text keys without aliases"
        elif key.value in seen:
            shown = repr(value.value) if isinstance(value, yaml.ScalarNode) else "a list or mapping"
            yield key_path(here), f"stands a second time in line {line}, with {shown}; allowed: each key once"
        seen.add(str(key.value))
        yield from _key_faults(value, here)
