"""Reads YAML 1.2 files: `010` is ten and `1:30` is text. PyYAML follows YAML 1.1, where they are eight and ninety."""

import json
import math
import re
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml

_MOST_BYTES, _DEEPEST = 100_000, 20
# How a scalar without quotes is read; what matches no pattern, such as `.nan`, is text.
_SCALARS: tuple[tuple[str, Callable[[str], Any]], ...] = (
    ("|~", lambda text: None),
    ("null|Null|NULL|true|True|TRUE|false|False|FALSE", lambda text: json.loads(text.lower())),
    ("[-+]?[0-9]{1,300}", int),
    ("0o[0-7]{1,100}|0x[0-9a-fA-F]{1,100}", lambda text: int(text, 0)),
    (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", float),
)


def read_plain(file: Path) -> Any:
    """The only document of a file, as mappings with string keys, lists and scalars; None if the file is empty.

    Tags, anchors and aliases are refused: with them a few lines could mean a value of any type and size.

    Raises:
        OSError: the file cannot be read.
        ValueError: the content is wrong; the message says what is wrong and what is allowed.
    """
    with file.open("rb") as stream:
        content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"too long; allowed: at most {_MOST_BYTES} bytes")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is no UTF-8; allowed: a text in UTF-8") from None
    kinds = (yaml.NodeEvent, yaml.CollectionEndEvent)
    try:
        events = (event for event in yaml.parse(text, Loader=yaml.CSafeLoader) if isinstance(event, kinds))
        documents = [_node(event, events) for event in events]
    except yaml.YAMLError as error:
        raise ValueError(f"{error}; allowed: YAML 1.2") from None
    if len(documents) > 1:
        raise ValueError(f"{len(documents)} documents; allowed: one")
    return documents[0] if documents else None


def _node(event: Any, events: Iterator[Any], depth: int = 1) -> Any:
    """The value that starts at an event; its further events are taken from `events`."""
    inner = takewhile(lambda one: not isinstance(one, yaml.CollectionEndEvent), events)
    if depth > _DEEPEST:
        raise _refused(event, "nested too deep", f"at most {_DEEPEST} levels")
    if event.anchor is not None or getattr(event, "tag", None) is not None:
        raise _refused(event, "a tag, an anchor or an alias", "plain values")
    if isinstance(event, yaml.ScalarEvent):
        kinds = [value for pattern, value in _SCALARS if not event.style and re.fullmatch(pattern, event.value)]
        value = kinds[0](event.value) if kinds else event.value
        if value in (math.inf, -math.inf):
            raise _refused(event, f"{event.value}: too large", "at most 1.8e308")
        return value
    if isinstance(event, yaml.SequenceStartEvent):
        return [_node(item, events, depth + 1) for item in inner]
    mapping: dict[str, Any] = {}
    for key in inner:
        if not isinstance(key, yaml.ScalarEvent):
            raise _refused(key, "a key that is no text", "a text")
        if key.anchor is not None or key.tag is not None:
            raise _refused(key, "a key with a tag or an anchor", "a text alone")
        if key.value in mapping:
            raise _refused(key, f"{key.value}: stands twice in a mapping", "each key once")
        mapping[key.value] = _node(next(events), events, depth + 1)
    return mapping


def _refused(event: Any, what: str, allowed: str) -> ValueError:
    return ValueError(f"{what} (line {event.start_mark.line + 1}); allowed: {allowed}")
