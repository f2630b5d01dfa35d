"""Which of the library's files a job runs, read from its imports: an edit of one makes its results old."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

from ict_core.store.provenance import hash_tree

LIBRARY = Path(__file__).parents[1]
_NAME = LIBRARY.name
INFRASTRUCTURE = (
    "commands",
    "config",  # its values are a job's parameters themselves
    "errors",
    "process",
    "store.code",
    "store.files",
    "store.layout",
    "store.provenance",
    "store.resolved",
)
"""Packages and modules that say how a job is started, supervised and recorded, and change no number that it writes."""
_NUMBERS = ("process.numerics", "process.vllm_environment")
"""Those of them that do."""


@functools.cache
def files_of(*modules: str) -> tuple[Path, ...]:
    """The files that a job may import, but for :data:`INFRASTRUCTURE`: the static closure of its modules' imports.

    Imports inside functions count. What a module imports by a name that it computes (a selection rule, a figure, a
    reader) is not seen: the caller adds it to `modules`.

    Args:
        modules: dotted names below the library, such as ``stages.train``.

    Raises:
        FileNotFoundError: there is no such module.
    """
    closure: set[Path] = set()
    waiting = [_file(module) for module in (*modules, *_NUMBERS)]
    while waiting:
        file = waiting.pop()
        if file in closure or (_is_infrastructure(file) and file not in map(_file, _NUMBERS)):
            continue
        closure.add(file)
        waiting += _imported(file)
    return tuple(sorted(closure))


def fingerprint(*modules: str) -> str:
    """A hash of :func:`files_of`: of their names and bytes, 16 hexadecimal digits."""
    return hash_tree(files_of(*modules))[:16]


def name_of(file: Path) -> str:
    """A file's name in the library: ``training/run.py``."""
    return file.relative_to(LIBRARY).as_posix()


def _is_infrastructure(file: Path) -> bool:
    name = name_of(file)
    return any(name == f"{part.replace('.', '/')}.py" or name.startswith(f"{part}/") for part in INFRASTRUCTURE)


def _file(module: str) -> Path:
    path = LIBRARY.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@functools.cache
def _imported(file: Path) -> frozenset[Path]:
    """The library's files that a file names in import statements, with the packages that they lie in."""
    found: set[Path] = set()
    for module in _imports(ast.parse(file.read_bytes())):
        path = LIBRARY
        found.add(path / "__init__.py")
        for part in module.split(".")[1:]:
            path = path / part
            found.update(file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file())
    return frozenset(found)


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == _NAME)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == _NAME:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
