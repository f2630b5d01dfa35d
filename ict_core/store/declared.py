"""Whether a study's declarations were committed before its runs: compares its files with the runs' commits."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from ict_core.store.files import hash_file
from ict_core.store.manifests import git

RETIRED = {"seeds_per_base": 1}
"""Former keys of study files, each with the one value that changes nothing in what is run today."""
_REMARKS = {"bound_with"}  # keys of claims that no test reads


def values_hash(file: Path) -> str:
    """SHA-256 of a file's values as YAML, without remarks and keys of `RETIRED`; if it is not YAML, of its text."""
    text = _text(file)
    values = _values(text)
    content = text if values is text else json.dumps(values, sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()


def declared(files: Sequence[Path], runs: Iterable[str | None]) -> dict[str, Any]:
    """The commit that holds the declaring files, in the repository of the first, and the files changed after some run.

    Returns:
        ``files``: by path in the repository, each file's SHA-256, :func:`values_hash` and commit. The commit is the
        last one that changed the file, or an earlier one at which the file has the same values.
        ``commit``: the last of these commits; None outside of git.
        ``after``: the files for which no such commit is an ancestor of every run's commit, or equal to it.
        None if a run's commit is not in the repository.
    """
    paths = [file.resolve() for file in files]
    folder, commits = paths[0].parent, list(dict.fromkeys(runs))
    top = git(folder, "rev-parse", "--show-toplevel")
    names = [path.relative_to(top).as_posix() if top and path.is_relative_to(top) else path.name for path in paths]
    present = all(commit and git(folder, "cat-file", "-e", f"{commit}^{{commit}}") is not None for commit in commits)

    def last_change(path: Path, *at: str) -> str | None:
        return git(folder, "log", "-1", "--format=%H", *at, "--", str(path)) or None

    def holds(name: str, path: Path, commit: str | None) -> bool:
        before = git(folder, "show", f"{commit}:{name}") if commit else None
        if before is None or _values(before) != _values(_text(path)):
            return False
        return all(git(folder, "merge-base", "--is-ancestor", str(commit), str(run)) is not None for run in commits)

    described: dict[str, dict[str, Any]] = {}
    after: list[str] = []
    for name, path in zip(names, paths, strict=True):
        newest = last_change(path)
        candidates = dict.fromkeys([newest, *(last_change(path, str(run)) for run in commits)]) if present else ()
        found = next((commit for commit in candidates if holds(name, path, commit)), None)
        described[name] = {"sha256": hash_file(path), "values_sha256": values_hash(path), "commit": found or newest}
        if found is None:
            after.append(name)
    file_commits = [file["commit"] for file in described.values() if file["commit"]]
    last = git(folder, "rev-list", "-1", "--topo-order", *file_commits) if file_commits else None
    return {"commit": last, "files": described, "after": after if present else None}


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def _values(text: str) -> Any:
    """The values in a YAML text, without remarks and keys of `RETIRED`; the text itself if it is not YAML."""

    def without_remarks(value: Any) -> Any:
        if isinstance(value, list):
            return [without_remarks(item) for item in value]
        if isinstance(value, dict):
            return {str(key): without_remarks(item) for key, item in value.items() if key not in _REMARKS}
        return value

    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):  # or a date that does not exist
        return text
    return without_remarks({k: v for k, v in data.items() if RETIRED.get(k) != v} if isinstance(data, dict) else data)
