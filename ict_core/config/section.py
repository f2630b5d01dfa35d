"""The base class of the configuration's sections, and how a section is read from a YAML file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from ict_core.config._yaml import read_plain
from ict_core.config.mistakes import Fault, Mistakes, faults_of, one_of, repeated
from ict_core.store.layout import NAME, NAMED

Name = Annotated[str, Field(pattern=NAME, description=NAMED)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Few = Annotated[int, Field(ge=1, le=10_000)]
Steps = Annotated[int, Field(ge=0, le=1_000_000)]
Threads = Annotated[int, Field(ge=1, le=1024)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]
LEAST_RATE, MOST_RATE = 1e-12, 1.0
Rate = Annotated[float, Field(ge=LEAST_RATE, le=MOST_RATE)]
Temperature = Annotated[float, Field(ge=0.01, le=100)]
Weight = Annotated[float, Field(gt=0, le=1000)]


def is_absent(value: object) -> bool:
    """For ``exclude_if`` of keys that are newer than stored runs: without the key, a section is dumped as before it."""
    return value is None


class Section(BaseModel):
    """A frozen mapping that refuses unknown keys and entries that stand twice, and never converts a value's type.

    No key has a default unless its absence means something: an assumption is written down in a YAML file.
    A field's description, if it has one, says what is allowed, as error messages quote it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    def faults(self) -> Iterator[Fault]:
        """The faults in the combination of this section's values, each of which is allowed by itself."""
        yield from ()

    @model_validator(mode="after")
    def _refuse_faults(self) -> Self:
        faults = [
            fault
            for key, value in self
            if isinstance(value, tuple) and all(isinstance(entry, str | int) for entry in value)
            for fault in repeated(key, value)
        ]
        if faults := [*faults, *self.faults()]:
            text = "; ".join(f"{key}: {text}" for key, text in faults)
            raise PydanticCustomError("faults", "{text}", {"text": text, "faults": faults})
        return self

    def changed(self, **values: Any) -> Self:
        """A copy of the section with other values, checked as a whole."""
        return type(self)(**{**dict(self), **values})

    def dump(self) -> dict[str, Any]:
        """The section as JSON-able values, without the keys that change no result (`exclude=True`)."""
        return self.model_dump(mode="json")


def load_section(file: Path, schema: Any) -> Any:
    """A YAML file's content as an instance of `schema`.

    Raises:
        UserError: the file is missing or wrong; one line for each problem, with file, key, value and what is allowed.
    """
    mistakes = Mistakes()
    section = read_section(file, schema, mistakes)
    mistakes.raise_if_any()
    return section


def read_section(file: Path, schema: Any, mistakes: Mistakes) -> Any:
    """A file's content as an instance of `schema`; None where a problem was noted."""
    content = read_yaml(file, mistakes)
    return None if content is None else check_section(file, content, schema, mistakes)


def check_section(file: Path, content: Any, schema: Any, mistakes: Mistakes) -> Any:
    """The content of a file, already read, as an instance of `schema`; None where a problem was noted."""
    try:  # through JSON: strict mode then takes lists and numbers, but converts no text
        return TypeAdapter(schema).validate_json(json.dumps(content))
    except ValidationError as error:
        mistakes.add(file, *faults_of(error, schema))
        return None


def read_yaml(file: Path, mistakes: Mistakes) -> Any:
    """The content of a YAML file, {} if it is empty; None where a problem was noted, such as a repeated key."""
    try:
        content = read_plain(file)
        return {} if content is None else content
    except FileNotFoundError:
        mistakes.add(file, Fault("", f"no such file; {one_of(other.stem for other in file.parent.glob('*.yaml'))}"))
    except (OSError, ValueError) as error:
        mistakes.add(file, Fault("", str(error)))
    return None
