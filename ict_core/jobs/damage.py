"""Finds outputs of a study whose content is not what was written, by the checksums in manifests and frames."""

import os
from collections.abc import Iterator
from pathlib import Path

from ict_core.errors import Damaged, UserError
from ict_core.store.files import remove
from ict_core.store.layout import MANIFEST, CellFiles, StudyFiles, cell_folder, checkpoints_folder
from ict_core.store.manifests import check_output, read_manifest

_ASIDE = ".damaged"
_NOT_READ = (_ASIDE, ".partial", checkpoints_folder(Path("train")).suffix)  # name endings of paths that are no outputs
_FRAMES = {  # by a manifest's name: the frame whose hash it states, and the key of the hash
    CellFiles(Path()).generation.name: (CellFiles(Path()).completions.name, "completions_sha256"),
    CellFiles(Path()).grading.name: (CellFiles(Path()).grades.name, "grades_sha256"),
}


def damaged(results: Path) -> dict[Path, str]:
    """The outputs in a study's folder whose content is not what was written, each with what is wrong with it.

    Every manifest and every frame with a checksum is read. A file whose hash is in a manifest (files of a checkpoint,
    completions, grades) is read only if it was changed after that manifest was written: an older change is noticed by
    the job that reads the file. Files without a checksum (tables, figures, pages) are not checked. OSError: this user
    may not read a file, or the disk fails.
    """
    faults: dict[Path, str] = {}
    for path in _checked(results):
        try:
            _check(path)
        except Damaged as error:
            faults[error.output] = str(error)
        except UserError:  # no checksum, as in another version's: the job that reads it says so
            continue
    return faults


def set_aside(output: Path) -> Path:
    """Append ``.damaged`` to the name of an output, replacing an earlier file of that name; returns the new path."""
    aside = output.with_name(output.name + _ASIDE)
    remove(aside)
    output.rename(aside)
    return aside


def _checked(results: Path) -> Iterator[Path]:
    """The checkpoints, manifests and frames of a study, each once."""
    study, cells = StudyFiles(results), cell_folder("*", "*", "*")
    patterns = (study.cell(cells).train, study.base_model("*", "*"), study.fetched_model("*"))
    checkpoints = {folder for pattern in patterns for folder in results.glob(str(pattern.relative_to(results)))}
    passed_over = {*checkpoints, study.logs, study.trackers("")}
    named = {folder for cell in results.glob(cells) for folder in cell.parents[:2]}  # as a study names models, variants
    yield from sorted(checkpoints)
    for top, folders, files in os.walk(results):
        entries = [Path(top, name) for name in sorted(folders + files) if not name.endswith(_NOT_READ)]
        folders[:] = [path.name for path in entries if path.name in folders and path not in passed_over]
        yield from (path for path in sorted({*entries} - named) if path.suffix in (".json", ".parquet"))


def _check(path: Path) -> None:
    if path.suffix == ".parquet":
        stating = [path.with_name(manifest) for manifest, (frame, _) in _FRAMES.items() if frame == path.name]
        if not any(manifest.exists() for manifest in stating):
            _hash(path)
    elif path.suffix == ".json":
        stated = read_manifest(path)
        name, key = _FRAMES.get(path.name, ("", ""))
        frame = path.with_name(name) if name else path
        if frame.exists() and frame.stat().st_mtime > path.stat().st_mtime and _hash(frame) != stated[key]:
            raise Damaged(f"{frame}: its content is not what {path.name} says", frame)
    elif (manifest := path / MANIFEST).is_file():
        check_output(path, path, since=manifest.stat().st_mtime)
    else:
        raise Damaged(f"{path}: no checkpoint with its manifest", path)


def _hash(frame: Path) -> str:
    from ict_core.store.records import checked_hash  # imported here, as pandas takes long

    return checked_hash(frame)
