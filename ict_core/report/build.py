"""Writes the pages of a study from the files that the other stages left."""

import json
from pathlib import Path
from typing import Any

from ict_core.errors import UserError
from ict_core.evidence.stored import Stored
from ict_core.figures.registry import FIGURES
from ict_core.report.manifests import manifest_page
from ict_core.report.overview import overview
from ict_core.report.page import page
from ict_core.store.files import write_text
from ict_core.store.layout import MANIFEST
from ict_core.store.manifests import read_manifest
from ict_core.tables.registry import TABLES


def write_report(stored: Path, results: Path) -> None:
    """Write `report.md`, `overview.html` and `manifest.html`.

    Args:
        stored: the folder of the study's stored files.
        results: the folder with `claims.json`, `claims.md`, `tables/` and `figures/`; receives the pages.

    Raises:
        UserError: a file is missing; it names it.
    """
    study = Stored(stored)
    settings = study.settings
    manifest = read_manifest(stored / MANIFEST)
    first = overview(settings, _claims(results / "claims.json"), study.frame("compute"), manifest)
    write_text(results / "overview.html", page(f"{settings.name}: overview", first))
    runs = manifest_page(settings.name, study.note, manifest)
    write_text(results / "manifest.html", page(f"{settings.name}: run manifests", runs))
    parts = [first, _text(results / "claims.md").replace("# Claims", "## Claims", 1)]
    parts += [f"## {table.title}\n\n{_text(results / 'tables' / f'{name}.md')}" for name, table in TABLES.items()]
    for name, figure in FIGURES.items():
        parts.append(f"## {figure.title}\n\n{figure.caption}\n\n![{figure.title}](figures/{name}.png)\n")
    write_text(results / "report.md", "\n".join(parts))


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
