"""The library's files that a job runs, read from its imports: an edit of one makes the job's results outdated."""

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ict_core.store.files import hash_file, hash_tree

LIBRARY = Path(__file__).parents[1]
_NAME = LIBRARY.name
INFRASTRUCTURE = (
    "commands",
    "config",  # its values are themselves parameters of a job
    "errors",
    "jobs",
    "process",
    "store.code",
    "store.files",
    "store.layout",
    "store.manifests",
)
"""Packages and modules that start, supervise and record a job, and change no number that it writes."""
_IMPORT = re.compile(  # from PACKAGE import NAMES, or import MODULES; at the beginning of a line
    rf"^[ \t]*(?:from[ ]+({_NAME}(?:\.[\w.]+)?)[ ]+import[ ]+(\([^)]*\)|[^\n#]+)|import[ ]+({_NAME}\b[\w., ]*))",
    re.MULTILINE,
)
# in these packages, but they do change numbers
_NUMBERS = ("process._kernels", "process.numerics", "process.vllm_environment", "seeding")


@functools.cache
def files_of(*modules: str) -> tuple[Path, ...]:
    """The files that a job may import, except :data:`INFRASTRUCTURE`: the static closure of its modules' imports.

    Imports inside functions count. Imports by a computed name (a selection rule, a figure, a reader) are not seen: the
    caller adds them to `modules`, dotted names below the library such as ``stages.train``.
    FileNotFoundError: there is no such module.
    """
    numbers = {_file(module) for module in _NUMBERS}
    closure: set[Path] = set()
    waiting = [file for module in modules for file in (_file(module), *_on_the_way(f"{_NAME}.{module}"))] + [*numbers]
    while waiting:
        file = waiting.pop()
        if file not in closure and (file in numbers or not is_infrastructure(name_of(file))):
            closure.add(file)
            waiting += _imported(file)
    return tuple(sorted(closure))


def fingerprint(*modules: str) -> str:
    """A hash of the names and bytes of :func:`files_of`, 16 hexadecimal digits."""
    return hash_tree(files_of(*modules))[:16]


def edited(loaded: Mapping[str, str], *modules: str) -> list[str]:
    """The files of `modules` that have changed since a job loaded them, by the hashes in its manifest, `loaded`."""
    now = {_plain(name_of(file)): file for file in files_of(*modules)}
    before = {_plain(name): sha256 for name, sha256 in loaded.items()}
    return [name_of(now[name]) for name in before if name in now and not hash_file(now[name]).startswith(before[name])]


def name_of(file: Path) -> str:
    """A file's name in the library: ``training/run.py``."""
    return file.relative_to(LIBRARY).as_posix()


def _plain(name: str) -> str:
    """A :func:`name_of` without underscores before modules; most had one before 0.3.0, as older manifests show."""
    return name.replace("/_", "/")


def is_infrastructure(name: str) -> bool:
    """Whether the file with this :func:`name_of` changes no number that a job writes."""
    name = _plain(name)
    return any(name == f"{part.replace('.', '/')}.py" or name.startswith(f"{part}/") for part in INFRASTRUCTURE)


def _file(module: str) -> Path:
    path = LIBRARY.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@functools.cache
def _imported(file: Path) -> set[Path]:
    """The library's files that a file names in import statements, with the files of their packages."""
    return {path for name in _imports(file.read_text(encoding="utf-8")) for path in _on_the_way(name)}


def _on_the_way(name: str) -> Iterator[Path]:
    """The files that are read on import of a dotted name of the library: a module, or something in one."""
    path = LIBRARY
    yield path / "__init__.py"
    for part in name.split(".")[1:]:
        path = path / part
        yield from (file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file())


def _imports(text: str) -> Iterator[str]:
    """The library's dotted names in a file's import statements; parsing the whole file would take ten times as long."""
    for module, names, modules in _IMPORT.findall(text):
        listed = re.sub(r"#.*", "", names or modules).strip("()").split(",")
        parts = [part.split()[0] for part in listed if part.strip()]
        yield from (f"{module}.{part}" if module else part for part in parts)
