"""Whether what a study declares was committed before its runs: files of its repository against the runs' commits."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from ict_core.store.files import hash_file
from ict_core.store.manifests import git

RETIRED = {"seeds_per_base": 1}
"""Keys that study files had, with the one value that changes nothing of what is run today."""
_REMARKS = {"bound_with"}  # keys of claims that no test reads


def values_hash(file: Path) -> str:
    """SHA-256 of what a file says as YAML, but for remarks and keys of `RETIRED`; if it is none, of its text."""
    said = file.read_text(encoding="utf-8", errors="replace")
    with suppress(yaml.YAMLError):
        said = json.dumps(_values(said), sort_keys=True, default=str)
    return hashlib.sha256(said.encode()).hexdigest()


def declared(files: Sequence[Path], runs: Iterable[str | None]) -> dict[str, Any]:
    """The commit that holds the declaring files, in the repository of the first, and those changed after some run.

    Returns:
        ``commit``, the last of those that hold what the files say now (None outside of git), and ``files``: SHA-256,
        :func:`values_hash` and commit of each, by its path in the repository. That commit is the last one that changed
        the file, or an earlier one that says the same: the same values. ``after`` are the files of
        which no such commit is an ancestor of every run's, nor that itself; None where a run's commit is not in the
        repository.
    """
    paths = [file.resolve() for file in files]
    folder, commits = paths[0].parent, list(dict.fromkeys(runs))
    top = git(folder, "rev-parse", "--show-toplevel")
    names = [path.relative_to(top).as_posix() if top and path.is_relative_to(top) else path.name for path in paths]
    known = all(commit and git(folder, "cat-file", "-e", f"{commit}^{{commit}}") is not None for commit in commits)

    def last_change(path: Path, *at: str) -> str | None:
        return git(folder, "log", "-1", "--format=%H", *at, "--", str(path)) or None

    def holds(name: str, path: Path, commit: str | None) -> bool:
        before = git(folder, "show", f"{commit}:{name}") if commit else None
        if before is None or _values(before) != _values(path.read_text(encoding="utf-8")):
            return False
        return all(git(folder, "merge-base", "--is-ancestor", str(commit), str(run)) is not None for run in commits)

    held: dict[str, dict[str, Any]] = {}
    after: list[str] = []
    for name, path in zip(names, paths, strict=True):
        newest = last_change(path)
        asked = dict.fromkeys([newest, *(last_change(path, str(run)) for run in commits)]) if known else ()
        found = next((commit for commit in asked if holds(name, path, commit)), None)
        held[name] = {"sha256": hash_file(path), "values_sha256": values_hash(path), "commit": found or newest}
        if found is None:
            after.append(name)
    of_files = [file["commit"] for file in held.values() if file["commit"]]
    last = git(folder, "rev-list", "-1", "--topo-order", *of_files) if of_files else None
    return {"commit": last, "files": held, "after": after if known else None}


def _values(text: str) -> Any:
    def without_remarks(value: Any) -> Any:
        if isinstance(value, list):
            return [without_remarks(one) for one in value]
        if isinstance(value, dict):
            return {key: without_remarks(one) for key, one in value.items() if key not in _REMARKS}
        return value

    read = yaml.safe_load(text)
    return without_remarks({k: v for k, v in read.items() if RETIRED.get(k) != v} if isinstance(read, dict) else read)
