"""Reads one YAML file as one section."""

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from ict_core.config._section import UNCHECKED, all_faults
from ict_core.config.mistakes import Fault, Mistakes, closest, key_path, note_error

_LARGEST = 2**18  # bytes of a file
_DIGITS = 18  # of a whole number
_NOT_ITS_TAG = (ValueError, ArithmeticError, LookupError, TypeError, AttributeError)  # of PyYAML, for `!!int x`


class _Loader(yaml.SafeLoader):
    """YAML's safe subset without aliases, where `3e-4` is a number (PyYAML alone asks for `3.0e-4` and reads a text).

    Aliases would let a small file stand for one of any size.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """See PyYAML."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(
                None, None, f"the alias {event.anchor!r}; allowed: no aliases", event.start_mark
            )
        return super().compose_node(parent, index)


_EXPONENT = re.compile(r"^[-+]?\d+(\.\d*)?[eE][-+]?\d+$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("-+0123456789"))


def read_section(file: Path, schema: Any, mistakes: Mistakes) -> Any:
    """A file's content as an instance of `schema`; None where a value was noted that is none of it.

    A section whose values do not fit together is noted too, but given: so is told what is wrong beside it.
    """
    content = _content(file, mistakes)
    if content is None:
        return None
    adapter = TypeAdapter(schema)
    try:  # through JSON: its strict mode knows lists and numbers but converts no text
        section = adapter.validate_json(content, context=UNCHECKED)
    except ValidationError as error:
        for detail in error.errors():
            note_error(mistakes, file, detail, adapter.json_schema())
        return None
    mistakes.add_all(file, all_faults(section))
    return section


def _content(file: Path, mistakes: Mistakes) -> str | None:
    """A YAML file as JSON; None where a problem was noted."""
    try:
        return _read(file, mistakes)
    except FileNotFoundError:
        known = closest(file.stem, (other.stem for other in file.parent.glob("*.yaml")))
        mistakes.add(file, "", f"no such file; {known}")
    except yaml.MarkedYAMLError as error:
        place = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        mistakes.add(file, "", f"not YAML: {error.problem}{place}")
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        mistakes.add(file, "", f"cannot be read: {error}")
    except RecursionError:
        mistakes.add(file, "", "is nested too deep")
    except _NOT_ITS_TAG as error:
        mistakes.add(file, "", f"holds a value that is not of its YAML type: {error}")
    return None


def _read(file: Path, mistakes: Mistakes) -> str | None:
    """A YAML file as JSON; None where a key was noted that stands twice or is no text, or a huge number."""
    if not stat.S_ISREG(file.stat().st_mode):
        raise OSError("it is no file")
    with file.open("rb") as opened:
        content = opened.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise OSError(f"it is larger than {_LARGEST // 1024} KiB")
    loader = _Loader(content.decode("utf-8"))
    try:
        node = loader.get_single_node()
        faults = list(_faults(node, ()))
        mistakes.add_all(file, faults)
        return None if faults else json.dumps(loader.construct_document(node) if node else None, default=str)
    finally:
        loader.dispose()


def _faults(node: yaml.Node | None, loc: tuple[int | str, ...]) -> Iterator[Fault]:
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _faults(item, (*loc, index))
    if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:int" and len(node.value) > _DIGITS:
        text = f"a number of {len(node.value)} digits; allowed: whole numbers of at most {_DIGITS}"
        yield Fault(key_path(loc), text)
    if not isinstance(node, yaml.MappingNode):
        return
    seen = set()
    for key, value in node.value:
        here, line = (*loc, str(key.value)), key.start_mark.line + 1
        if key.tag != "tag:yaml.org,2002:str":
            yield Fault(key_path(here), f"a key in line {line} that is no text; allowed: text keys without aliases")
        elif key.value in seen:
            held = repr(value.value) if isinstance(value, yaml.ScalarNode) else "a list or mapping"
            yield Fault(key_path(here), f"stands a second time in line {line}, with {held}; allowed: each key once")
        seen.add(str(key.value))
        yield from _faults(value, here)
