"""What every section of the configuration shares, and how one is read from a YAML file."""

import json
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from ict_core.config.mistakes import Fault, Mistakes, closest, key_path, note_error
from ict_core.store import NAME, NAMED

Name = Annotated[str, Field(pattern=NAME, description=NAMED)]
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]


def is_absent(value: object) -> bool:
    """Of a key that came later than stored runs (``exclude_if``): without it, a section is written as it was before."""
    return value is None


_UNCHECKED = {"unchecked": True}  # context of a validation whose caller notes the faults; without it they are raised


class Section(BaseModel):
    """A frozen mapping that refuses unknown keys and never converts a value's type.

    No key has a default unless its absence means something: an assumption is written down in a YAML file.
    A field's description, where it has one, says what is allowed in the words of an error message.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    def faults(self) -> Iterator[Fault]:
        """What is wrong between the values of this section, each of which is allowed by itself."""
        yield from ()

    @model_validator(mode="after")
    def _refuse_faults(self, info: ValidationInfo) -> Self:
        faults = [] if info.context is _UNCHECKED else [f"{key}: {text}" for key, text in self.faults()]
        if faults:
            raise PydanticCustomError("faults", "{text}", {"text": "; ".join(faults)})
        return self

    def changed(self, **values: Any) -> Self:
        """The section with other values, checked as a whole."""
        return type(self)(**{**dict(self), **values})

    def dump(self) -> dict[str, Any]:
        """The section as JSON-able values."""
        return self.model_dump(mode="json")


def _all_faults(value: object, place: tuple[int | str, ...] = ()) -> Iterator[Fault]:
    """The faults of every section in a value, each under the whole path of its key."""
    inner: Iterable[tuple[int | str, object]] = ()
    if isinstance(value, Section):
        for key, text in value.faults():
            yield Fault(key_path([*place, key]), text)
        inner = value
    elif isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, tuple):
        inner = enumerate(value)
    for step, part in inner:
        yield from _all_faults(part, (*place, step))


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
            text = f"the alias {event.anchor!r}; allowed: no aliases"
            raise yaml.composer.ComposerError(None, None, text, event.start_mark)
        return super().compose_node(parent, index)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?\d+(\.\d*)?[eE][-+]?\d+$"), list("-+0123456789")
)


def read_section(file: Path, schema: Any, mistakes: Mistakes) -> Any:
    """A file's content as an instance of `schema`; None where a value was noted that is none of it.

    A section whose values do not fit together is noted too, but given: so is told what is wrong beside it.
    """
    content = read_yaml(file, mistakes)
    return None if content is None else check_section(file, content, schema, mistakes)


def check_section(file: Path, content: Any, schema: Any, mistakes: Mistakes) -> Any:
    """A file's content, which was read, as :func:`read_section` gives it."""
    adapter = TypeAdapter(schema)
    try:  # through JSON: its strict mode knows lists and numbers but converts no text
        section = adapter.validate_json(json.dumps(content, default=str), context=_UNCHECKED)
    except ValidationError as error:
        for detail in error.errors():
            note_error(mistakes, file, detail, adapter.json_schema())
        return None
    mistakes.add_all(file, _all_faults(section))
    return section


def read_yaml(file: Path, mistakes: Mistakes) -> Any:
    """The content of a YAML file, {} of an empty one; None where a problem was noted, such as a key twice."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise OSError("it is no file")
        with file.open("rb") as opened:
            content = opened.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise OSError(f"it is larger than {_LARGEST // 1024} KiB")
        loader = _Loader(content.decode("utf-8"))
        node = loader.get_single_node()
        if not (faults := list(_faults(node, ()))):
            read = loader.construct_document(node) if node else None
            return {} if read is None else read
        mistakes.add_all(file, faults)
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


def _faults(node: yaml.Node | None, loc: tuple[int | str, ...]) -> Iterator[Fault]:
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _faults(item, (*loc, index))
    if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:int" and len(node.value) > _DIGITS:
        allowed = f"whole numbers of at most {_DIGITS}"
        yield Fault(key_path(loc), f"a number of {len(node.value)} digits; allowed: {allowed}")
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
