"""Outputs that are not what their jobs left, found at the cost of a look at each.

When a job has ended, Snakemake notes the time of change of each of its outputs. An output that still has it is taken as
it is. Of the others, those of the costly jobs are held against their own checksums, and files of all else against what
:func:`note` has kept. So what changes without a new time of change, as bits that rot, is not seen here: what reads the
file sees it, by its checksum.
"""

import os
import re
import stat
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from pathlib import Path

from ict_core.errors import Damaged, UserError
from ict_core.jobs.outputs import Stage
from ict_core.store import check_output, hash_file, read_manifest, remove

_ENDTIME = re.compile(rb'"endtime": ([0-9.e+-]+)')
_ANSWERS = {"generate": "completions_sha256", "grade": "grades_sha256"}  # key of the manifest that states the frame
_COSTLY = {"data", "pretrain", "fetch_model", "supervised_start", "train", *_ANSWERS}
_STAMP = ".snakemake_timestamp"  # Snakemake's own, in a folder that a job has made; its time is noted as the folder's
_NO_FOLDER = "a file stands where a folder is wanted"
_CHANGED = "it was changed after its job had written it"


def begun(root: Path) -> frozenset[Path]:
    """The outputs whose jobs Snakemake has begun and not seen end, of the repository that it runs in.

    It marks each by a file under ``.snakemake/incomplete``, named by the output's path in base64; a long name is split
    into folders that begin with ``@``.
    """
    folder = root / ".snakemake" / "incomplete"
    names = (path.relative_to(folder).parts for path in folder.rglob("*") if path.is_file())
    return frozenset(root / urlsafe_b64decode("".join(part.removeprefix("@") for part in n)).decode() for n in names)


def damaged(root: Path, stages: Iterable[Stage]) -> dict[Path, str]:
    """The outputs that are there and are not what their jobs left, each with what is wrong with it, its path first.

    An output that is missing, or whose job is under way, is none of them, but a file that stands where its folder would
    be is. Snakemake runs in `root`. OSError: this user may not read an output, or the disk fails.
    """
    faults: dict[Path, str] = {}
    for stage in _idle(root, stages):
        changed = {output: fault for output in stage.outputs if (fault := _change(root, output))}
        if changed:
            faults |= _faults(root, stage, changed)
        faults |= {file: f"{file}: {_NO_FOLDER}" for output in stage.outputs if (file := _above(output))}
    return faults


def note(root: Path, rule: str, outputs: Iterable[Path]) -> None:
    """Keep the SHA-256 of each file that a job has just left, unless it has checksums of its own."""
    for output in outputs if rule not in _COSTLY else ():
        if output.is_file():
            record = _record(root, "ict_sha256", output)
            record.parent.mkdir(parents=True, exist_ok=True)
            record.write_text(hash_file(output))


def mend(output: Path) -> str:
    """What helps now where an output is missing, or does not hold what was written."""
    root = _root(output)
    if root is None:
        return "delete it, and make it anew by its stage"
    seen = not output.exists() or _change(root, output)
    return f"{'' if seen else f'delete {output} and '}run snakemake again, which makes it anew"


def set_aside(output: Path) -> Path:
    """Give an output the further ending ``.damaged``, in place of an earlier one of that name; the new path."""
    aside = output.with_name(output.name + ".damaged")
    remove(aside)
    output.rename(aside)
    return aside


def _idle(root: Path, stages: Iterable[Stage]) -> Iterable[Stage]:
    """The jobs that are not under way."""
    marked = begun(root.absolute())
    return [s for s in stages if not marked or marked.isdisjoint(map(Path.absolute, s.outputs))]


def _faults(root: Path, stage: Stage, changed: dict[Path, str]) -> dict[Path, str]:
    """What is wrong with a job's changed outputs."""
    told = {output: f"{output}: {fault}" for output, fault in changed.items()}
    there = all(output.exists() for output in stage.outputs)  # else the job runs again anyway
    if stage.name not in _COSTLY:
        return {file: told[file] for file, fault in changed.items() if fault != _CHANGED or _differs(root, file)}
    if not there or set(changed.values()) != {_CHANGED}:
        return told
    try:
        _check_costly(root, stage, changed)
    except UserError as error:
        only = error.output if isinstance(error, Damaged) and error.output in changed else None
        return {output: str(error) for output in changed if only in (None, output)}
    return {}


def _change(root: Path, output: Path) -> str:
    """In what an output is not as Snakemake saw it last; empty if it is, is missing, or was never noted."""
    try:
        status = output.stat()
        is_folder, wanted = stat.S_ISDIR(status.st_mode), not output.suffix
        if is_folder != wanted:
            return "a folder stands where a file is wanted" if is_folder else _NO_FOLDER
        noted = _noted(root, output)
        if noted is None or (_newest(output, noted) if is_folder else status.st_mtime) == noted:
            return ""
    except (FileNotFoundError, NotADirectoryError):  # or was deleted meanwhile
        return ""
    return _CHANGED


def _above(output: Path) -> Path | None:
    """The file that stands in the place of one of an output's folders."""
    try:
        output.lstat()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        return next(folder for folder in output.parents if folder.is_file())
    return None


def _root(path: Path) -> Path | None:
    """The folder in which Snakemake has run, above a path."""
    return next((folder for folder in path.absolute().parents if (folder / ".snakemake").is_dir()), None)


def _noted(root: Path, output: Path) -> float | None:
    """The time of change that Snakemake noted of an output, in seconds since 1970; None of one that it has not made."""
    try:
        ended = _ENDTIME.search(_record(root, "metadata", output).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    return float(ended[1]) if ended else None


def _differs(root: Path, output: Path) -> bool:
    """Whether a file is not known to hold what its job left."""
    record = _record(root, "ict_sha256", output)
    return not record.exists() or record.read_text() != hash_file(output)


def _record(root: Path, kind: str, output: Path) -> Path:
    """Where something is noted of an output, named as by Snakemake."""
    folder = root / ".snakemake"
    code = urlsafe_b64encode(os.path.relpath(output, root).encode()).decode()
    longest = os.pathconf(folder, "PC_NAME_MAX") - 1
    *above, last = (code[i : i + longest] for i in range(0, len(code), longest))
    return Path(folder, kind, *(f"@{part}" for part in above), last)


def _newest(folder: Path, noted: float) -> float:
    """The latest time of change in a folder if it is after the time noted, else that of Snakemake's own stamp."""
    newest, own, folders = 0.0, 0.0, [os.fspath(folder)]
    while folders:
        with os.scandir(path := folders.pop()) as entries:
            for entry in entries:
                time = entry.stat(follow_symlinks=False).st_mtime
                if entry.name == _STAMP and path == os.fspath(folder):
                    own = time
                else:
                    newest = max(newest, time)
                    folders += [entry.path] if entry.is_dir(follow_symlinks=False) else []
    newest = max(newest, folder.stat().st_mtime)
    return newest if newest > noted else own


def _check_costly(root: Path, stage: Stage, changed: Iterable[Path]) -> None:
    """Hold the changed outputs of a costly job against their checksums: frames, a frame with its manifest, a folder."""
    if stage.name == "data" or stage.name in _ANSWERS:
        from ict_core.store.records import checked_hash  # here, as pandas takes long to import

    if stage.name == "data":
        for frame in changed:
            checked_hash(frame)
    elif stage.name in _ANSWERS:
        frame, manifest = stage.outputs
        stated = read_manifest(manifest)
        if checked_hash(frame) != stated[_ANSWERS[stage.name]]:
            raise UserError(f"{frame}: its content is not what {manifest.name} says")
    else:
        (folder,) = stage.outputs
        noted, stamp = _noted(root, folder), folder / _STAMP
        unchanged = noted is not None and stamp.exists() and stamp.stat().st_mtime == noted
        check_output(folder, folder, since=noted if noted is not None and unchanged else 0.0)
