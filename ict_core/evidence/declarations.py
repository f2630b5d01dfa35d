"""What the modules of a folder declare about their figures or tables, read from their source.

No module is imported: the workflow and the pages read titles and inputs at every start, and plotting takes a second.
"""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What every figure or table declares."""

    title: str  # a few words
    inputs: tuple[str, ...]  # names of frames of `evidence.stored.Stored`, in the order in which a figure takes them
    place: int  # its position in the report


Kind = TypeVar("Kind", bound=Shown)


def read_declarations(folder: Path, variable: str, kind: type[Kind]) -> dict[str, Kind]:
    """The declarations of all modules that have ``variable = kind(...)``, by module name, in order of place.

    Raises:
        ValueError: a declaration cannot be read without importing its module, or two have the same place.
    """
    declared: dict[str, Kind] = {}
    for file in sorted(folder.glob("*.py")):
        source = file.read_text(encoding="utf-8")
        if f"\n{variable} = {kind.__name__}(" in source:
            declared[file.stem] = kind(**_keywords(source, variable, file))
    if len({entry.place for entry in declared.values()}) < len(declared):
        raise ValueError(f"{folder}: two declarations have one place")
    return dict(sorted(declared.items(), key=lambda item: item[1].place))


def _keywords(source: str, variable: str, file: Path) -> dict[str, Any]:
    for statement in ast.parse(source, file).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == variable:
            call = statement.value
            if not isinstance(call, ast.Call) or call.args:
                break
            try:
                return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
            except ValueError:
                break
    raise ValueError(f"{file}: {variable} must be one call whose arguments are keywords and literals")
