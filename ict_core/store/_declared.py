"""Whether what a study declares was committed before its runs: files of its repository against the runs' commits."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ict_core.store._files import hash_file
from ict_core.store._manifests import git


def declared(files: Sequence[Path], runs: Iterable[str | None]) -> dict[str, Any]:
    """The commit that holds the declaring files, in the repository of the first, and those changed after some run.

    Returns:
        ``commit``, the last one that changed a file (None outside of git), and ``files``: SHA-256 and last commit of
        each, by its path in the repository. ``after`` are the files with changes that no commit holds, or whose last
        commit is no ancestor of a run's, nor that itself; None where a run's commit is not in the repository.
    """
    paths = [file.resolve() for file in files]
    folder, commits = paths[0].parent, list(dict.fromkeys(runs))
    top = git(folder, "rev-parse", "--show-toplevel")
    names = [path.relative_to(top).as_posix() if top and path.is_relative_to(top) else path.name for path in paths]
    last = [git(folder, "log", "-1", "--format=%H", "--", str(path)) or None for path in paths]
    known = all(commit and git(folder, "cat-file", "-e", f"{commit}^{{commit}}") is not None for commit in commits)

    def is_before(path: Path, commit: str | None) -> bool:
        if commit is None or git(folder, "status", "--porcelain", "--", str(path)):
            return False
        return all(git(folder, "merge-base", "--is-ancestor", commit, str(run)) is not None for run in commits)

    return {
        "commit": git(folder, "log", "-1", "--format=%H", "--", *map(str, paths)) or None,
        "files": {
            name: {"sha256": hash_file(path), "commit": commit}
            for name, path, commit in zip(names, paths, last, strict=True)
        },
        "after": [n for n, p, c in zip(names, paths, last, strict=True) if not is_before(p, c)] if known else None,
    }
