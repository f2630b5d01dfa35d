"""What every section of the configuration shares."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9][a-z0-9._-]{0,39}$",
        description="a name that can be a folder: a-z, 0-9, '.', '-' and '_', at most 40 characters",
    ),
]
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]


class Section(BaseModel):
    """A frozen mapping that refuses unknown keys and never converts a value's type.

    No key has a default unless its absence means something: an assumption is written down in a YAML file.
    A field's description, where it has one, says what is allowed in the words of an error message.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    def dump(self) -> dict[str, Any]:
        """The section as JSON-able values."""
        return self.model_dump(mode="json")
