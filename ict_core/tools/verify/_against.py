"""A whole run of a study beside a stored one: which files are the same bytes, and which verdicts are not the same."""

import json
from pathlib import Path
from typing import NamedTuple

from ict_core.config import compare
from ict_core.errors import UserError
from ict_core.evidence import kinds
from ict_core.store import TABLE_KINDS, StudyFiles, hash_file, read_manifest
from ict_core.tools.verify._changes import listed

_RUN = StudyFiles(Path())
_TIMED = (_RUN.frame("compute"), *(_RUN.table("compute", kind) for kind in TABLE_KINDS), _RUN.manifest)
"""They hold wall times."""
_LONGEST = 200  # characters of a line of a list


class Against(NamedTuple):
    """What a run and a stored one differ in.

    Attributes:
        files: every stored file but those with wall times, by its path from the run's folder: `same`, `differs` or
            `missing`.
        verdicts: of the claims with another verdict, the stored one and the run's; `claims` is how many both have.
        kinds, configuration: in words, what of code, packages and hardware, and which keys of `study.json` differ.
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
    """Compare a finished run, ``results/STUDY``, with one that `make reference` stored, ``results/reference/mini``.

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
    verdicts = {name: (theirs[name], ours[name]) for name in both if theirs[name] != ours[name]}
    settings = [read_manifest(study.settings) for study in studies]
    keys = [f"{key}: {then} -> {now}" for key, then, now in compare(*settings).different]
    then_kinds, now_kinds = (kinds(read_manifest(study.manifest)) for study in studies)
    other = [f"{kind}: {then} -> {now_kinds[kind]}" for kind, then in then_kinds.items() if now_kinds[kind] != then]
    return Against(files, verdicts, len(both), other, keys)


def _compared(ours: Path, theirs: Path) -> str:
    if not ours.is_file():
        return "missing"
    return "same" if hash_file(ours) == hash_file(theirs) else "differs"


def _verdicts(file: Path) -> dict[str, str]:
    return {claim["id"]: claim["verdict"] for claim in json.loads(file.read_bytes())["claims"]}


def against_page(outcome: Against, results: Path, stored: Path) -> str:
    """What `ict verify --against` prints."""
    lines = [f"{results} against {stored}"]
    if outcome.configuration:
        lines += ["not of the same configuration:", *listed(outcome.configuration, _LONGEST)]
    other = [f"{name} {state}" for name, state in outcome.files.items() if state != "same"]
    same = len(outcome.files) - len(other)
    lines.append(
        f"files: {same} of {len(outcome.files)} are the same bytes (wall times and manifests are not compared)"
    )
    lines += listed(other, _LONGEST)
    changed = [f"{name}: {then} -> {now}" for name, (then, now) in outcome.verdicts.items()]
    lines.append(f"verdicts: {outcome.claims - len(changed)} of {outcome.claims} are the same")
    lines += listed(changed, _LONGEST)
    if other and outcome.kinds:
        lines += ["what may be the cause:", *listed(outcome.kinds, _LONGEST)]
    return "\n".join(lines) + "\n"
