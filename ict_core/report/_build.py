"""Writes the pages of a study from the files that the other stages left."""

import json
from pathlib import Path
from typing import Any

from ict_core.errors import UserError
from ict_core.evidence import Stored
from ict_core.figures import FIGURES
from ict_core.report._manifests import manifest_page
from ict_core.report._overview import overview
from ict_core.report._page import page
from ict_core.store import StudyFiles, read_manifest, write_text
from ict_core.tables import TABLES


def write_report(stored: Path, results: Path) -> None:
    """Write `report.md`, `overview.html` and `manifest.html`.

    Args:
        stored: the folder of the study's stored files.
        results: the folder with `claims.json`, `claims.md`, `tables/` and `figures/`; receives the pages.

    Raises:
        UserError: a file is missing; it names it.
    """
    study, files = Stored(stored), StudyFiles(results)
    settings = study.settings
    manifest = read_manifest(StudyFiles(stored).manifest)
    first = overview(settings, _claims(files.claims), study.frame("compute"), manifest)
    write_text(files.overview, page(f"{settings.name}: overview", first))
    runs = manifest_page(settings.name, study.note, manifest)
    write_text(files.manifest_page, page(f"{settings.name}: run manifests", runs))
    parts = [first, _text(files.claims_text).replace("# Claims", "## Claims", 1)]
    for name, table in TABLES.items():
        parts.append(f"## {table.title}\n\n{_text(files.table(name, 'md'))}")
    for name, figure in FIGURES.items():
        image = files.figure(name, "png").relative_to(results)
        parts.append(f"## {figure.title}\n\n{figure.caption}\n\n![{figure.title}]({image})\n")
    write_text(files.report, "\n".join(parts))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"{path}: no such file; run the stage that writes it") from error


def _claims(path: Path) -> list[dict[str, Any]]:
    try:
        content = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not JSON ({error}); delete it and run the stage that writes it") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: not what `ict claims` wrote; delete it and run the stage that writes it")
    claims: list[dict[str, Any]] = content["claims"]
    return claims
