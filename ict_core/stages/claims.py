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
    """Test every claim of the ledger.

    Args:
        stored: the folder of what was measured.
        results: that of the statistics; receives ``claims.json``, ``.md`` and ``.html``.
        claims: the ledger.
    """
    study = Stored(stored, results)
    settings = study.settings
    runs, quantities, scores = (study.frame(name) for name in ("runs", "quantities", "scores"))
    evidence = LedgerFrames(runs, quantities, settings.mirrors, Graded(scores))
    tested = as_json(ledger(read_claims(claims), evidence, settings.margin, settings.power))
    text = claims_page(settings.name, study.note, tested, settings.margin, settings.power)
    files = StudyFiles(results)
    write_text(files.claims_text, text)
    write_text(files.claims_page, page(f"{settings.name}: claims", text))
    write_json(files.claims, {"study": settings.name, "note": settings.note, "claims": tested})
