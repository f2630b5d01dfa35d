"""The verdict on every claim of the ledger."""

from ict_core.jobs.command import Given, Results, StoredFolder, command


@command("claims", portable=True, writes="results")
def run(stored: StoredFolder, results: Results, claims: Given) -> None:
    """Test every claim of the ledger."""
    from ict_core.report.ledger import write_claims

    write_claims(stored, results, claims)
