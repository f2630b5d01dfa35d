"""The verdict on every claim of the ledger."""

from pathlib import Path

from ict_core.evidence import LedgerFrames, Stored, as_json, ledger, read_claims
from ict_core.report import claims_page, page
from ict_core.statistics import Graded, by_base
from ict_core.store import StudyFiles, write_json, write_text


def run(stored: Path, results: Path, claims: Path) -> None:
    """Test every claim of the ledger `claims` on what was measured (`stored`) and its statistics, in `results`."""
    study = Stored(stored, results)
    settings = study.settings
    graded = Graded(study.frame("scores"))
    per_base = settings.seeds_per_base
    runs, quantities = (by_base(study.frame(name), per_base) for name in ("runs", "quantities"))
    frames = LedgerFrames(runs, quantities, settings.mirrors, graded)
    tested = as_json(ledger(read_claims(claims), frames, settings.margin, settings.power))
    text = claims_page(settings.name, study.note, tested, settings.margin, settings.power)
    files = StudyFiles(results)
    write_text(files.claims_text, text)
    write_text(files.claims_page, page(f"{settings.name}: claims", text))
    write_json(files.claims, {"study": settings.name, "note": settings.note, "claims": tested})
