"""What every section of the configuration shares."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from ict_core.config.mistakes import Fault, key_path

Name = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9][a-z0-9._-]{0,39}$",
        description="a name that can be a folder: a-z, 0-9, '.', '-' and '_', at most 40 characters",
    ),
]
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]

UNCHECKED = {"unchecked": True}
"""The context of a validation whose caller notes the faults (`yaml_file.read_section`); without it they are raised."""


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
        faults = [] if info.context is UNCHECKED else [f"{key}: {text}" for key, text in self.faults()]
        if faults:
            raise PydanticCustomError("faults", "{text}", {"text": "; ".join(faults)})
        return self

    def changed(self, **values: Any) -> Self:
        """The section with other values, checked as a whole."""
        return type(self)(**{**dict(self), **values})

    def dump(self) -> dict[str, Any]:
        """The section as JSON-able values."""
        return self.model_dump(mode="json")


def all_faults(value: object, place: tuple[int | str, ...] = ()) -> Iterator[Fault]:
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
        yield from all_faults(part, (*place, step))
