"""The verdict on every claim of the ledger."""

from pathlib import Path

from ict_core.evidence.claims import read_claims
from ict_core.evidence.ledger import LedgerFrames, as_json, ledger
from ict_core.evidence.stored import Stored
from ict_core.report.claims import claims_page
from ict_core.report.page import page
from ict_core.statistics.graded import Graded
from ict_core.store.files import write_text
from ict_core.store.layout import StudyFiles
from ict_core.store.manifests import write_json


def run(stored: Path, results: Path, claims: Path) -> None:
    """Test every claim of the ledger `claims` on what was measured (`stored`) and its statistics, in `results`."""
    study = Stored(stored, results)
    settings = study.settings
    graded = Graded(study.frame("scores"))
    frames = LedgerFrames(study.frame("runs"), study.frame("quantities"), settings.mirrors, graded)
    tested = as_json(ledger(read_claims(claims), frames, settings.margin, settings.power))
    text = claims_page(settings.name, study.note, tested, settings.margin, settings.power)
    files = StudyFiles(results)
    write_text(files.claims_text, text)
    write_text(files.claims_page, page(f"{settings.name}: claims", text))
    write_json(files.claims, {"study": settings.name, "note": settings.note, "claims": tested})
