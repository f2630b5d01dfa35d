"""A whole run of a study beside a stored one: which files are the same bytes, and which verdicts are not the same."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ict_core.config.differences import compare
from ict_core.errors import UserError
from ict_core.evidence.origins import kinds
from ict_core.store.hashes import hash_file
from ict_core.store.layout import TABLE_KINDS, StudyFiles
from ict_core.store.manifests import read_manifest

_RUN = StudyFiles(Path())
_TIMED = (_RUN.frame("compute"), *(_RUN.table("compute", kind) for kind in TABLE_KINDS), _RUN.manifest)
"""They hold wall times."""
_LISTED, _LONGEST = 20, 200  # lines of a list, characters of a line


class Against(NamedTuple):
    """What a run and a stored one differ in.

    Attributes:
        files: every stored file but those that hold wall times, by its path from the run's folder: `same`, `differs`
            or `missing`.
        verdicts: of the claims with another verdict, the stored one and the run's.
        claims: how many claims both have.
        kinds: in words, what of code, packages and hardware is not the same.
        configuration: the keys of `study.json` that differ, with both values.
    """

    files: dict[str, str]
    verdicts: dict[str, tuple[str, str]]
    claims: int
    kinds: list[str]
    configuration: list[str]

    @property
    def same(self) -> bool:
        """Whether every file is the same bytes."""
        return set(self.files.values()) == {"same"}


def against(results: Path, stored: Path) -> Against:
    """Compare a finished run with a stored one.

    Args:
        results: the run's folder, ``results/STUDY``.
        stored: a folder that `make reference` filled, such as ``results/reference/mini``.

    Raises:
        UserError: one of them is no study's folder, or the run has no claims yet.
        Damaged: a manifest is not what was written.
    """
    studies = [StudyFiles(folder) for folder in (stored, results)]
    for file in (file for study in studies for file in (study.settings, study.claims, study.manifest)):
        if not file.is_file():
            raise UserError(f"{file}: no such file; allowed: the folder of a study that has ended well")
    names = sorted(path.relative_to(stored).as_posix() for path in stored.rglob("*") if path.is_file())
    timed = {path.as_posix() for path in _TIMED}
    files = {name: _compared(results / name, stored / name) for name in names if name not in timed}
    theirs, ours = (_verdicts(study.claims) for study in studies)
    both = [name for name in theirs if name in ours]
    other = {name: (theirs[name], ours[name]) for name in both if theirs[name] != ours[name]}
    settings = [read_manifest(study.settings) for study in studies]
    keys = [f"{key}: {then} -> {now}" for key, then, now in compare(*settings).different]
    manifests = [read_manifest(study.manifest) for study in studies]
    return Against(files, other, len(both), list(_kinds(*map(kinds, manifests))), keys)


def _compared(ours: Path, theirs: Path) -> str:
    if not ours.is_file():
        return "missing"
    return "same" if hash_file(ours) == hash_file(theirs) else "differs"


def _verdicts(file: Path) -> dict[str, str]:
    return {claim["id"]: claim["verdict"] for claim in json.loads(file.read_bytes())["claims"]}


def _kinds(stored: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Each kind of thing that is another one, from the stored to the run's."""
    for kind, then in stored.items():
        if now[kind] != then:
            yield f"{kind}: {then} -> {now[kind]}"


def against_page(found: Against, results: Path, stored: Path) -> str:
    """What `ict verify --against` prints."""
    lines = [f"{results} against {stored}"]
    if found.configuration:
        lines += ["not of the same configuration:", *_listed(found.configuration)]
    other = [f"{name} {state}" for name, state in found.files.items() if state != "same"]
    same = len(found.files) - len(other)
    lines.append(f"files: {same} of {len(found.files)} are the same bytes (wall times and manifests are not compared)")
    lines += _listed(other)
    changed = [f"{name}: {then} -> {now}" for name, (then, now) in found.verdicts.items()]
    lines.append(f"verdicts: {found.claims - len(changed)} of {found.claims} are the same")
    lines += _listed(changed)
    if other and found.kinds:
        lines += ["what may be the cause:", *_listed(found.kinds)]
    return "\n".join(lines) + "\n"


def _listed(texts: list[str]) -> list[str]:
    more = [f"  and {len(texts) - _LISTED} more"] if len(texts) > _LISTED else []
    return [*(f"  {text[:_LONGEST]}" for text in texts[:_LISTED]), *more]
