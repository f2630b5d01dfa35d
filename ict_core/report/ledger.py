"""The verdict on every claim of the ledger, as a file and as a page."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ict_core.evidence.bench import claims_of
from ict_core.evidence.claims import Measure
from ict_core.evidence.ledger import as_json, ledger
from ict_core.evidence.stored import Stored
from ict_core.evidence.validity import ledger_frames
from ict_core.report.claims import claims_beside, claims_page, stored_claims
from ict_core.statistics.schemas import SHARED_RATE
from ict_core.store.files import write_text
from ict_core.store.layout import REPOSITORY, StudyFiles, stored_folder
from ict_core.store.manifests import write_json

_AT_SHARED_RATE = ("estimate", "low", "high", "p_adjusted", "unit", "verdict")


def write_claims(stored: Path, results: Path, claims: Path) -> None:
    """Test every claim of the ledger `claims` on the frames in `stored` and `results`; write the verdicts to `results`.

    Where the study tunes the learning rates, claims on scores are tested a second time, at the rate that all share.
    """
    study = Stored(stored, results)
    settings = study.settings
    frames = ledger_frames(study, study.frame("runs"), study.frame("quantities"))
    ledger_claims = claims_of(claims, settings)
    tested = as_json(ledger(ledger_claims, frames, settings.margin, settings.power))
    runs = study.frame(f"{SHARED_RATE}runs")
    if len(runs):
        shared = replace(frames, runs=runs)
        retested = [claim for claim in ledger_claims if not isinstance(claim.test, Measure)]
        by_id = {entry["id"]: entry for entry in as_json(ledger(retested, shared, settings.margin, settings.power))}
        for entry in tested:
            match = by_id.get(entry["id"], {})
            entry["at_shared_rate"] = {key: match[key] for key in _AT_SHARED_RATE} if match.get("seeds") else None
    others = {}
    for name in settings.whole.get("beside", []):
        remedy = f"`make reference STUDY={name}`, or take it out of `beside`"
        others[name] = stored_claims(StudyFiles(REPOSITORY / stored_folder(name)).claims, remedy)
    kinds = {name: _kind(name, page) for name, page in others.items()}
    text = claims_page(settings.name, study.note, tested, settings.margin, settings.power)
    text += claims_beside(settings.name, tested, {name: page["claims"] for name, page in others.items()}, kinds)
    files = StudyFiles(results)
    write_text(files.claims_text, text)
    write_json(files.claims, {"study": settings.name, "note": settings.note, "claims": tested})


def _kind(name: str, page: Mapping[str, Any]) -> str:
    """What a stored study is about, in words; empty for trainings of models that it pretrained itself."""
    if page.get("unit") == "prompt":
        return "an untrained model's tokens, by prompts"
    return Stored(REPOSITORY / stored_folder(name)).settings.real_models
