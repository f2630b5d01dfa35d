"""The tables, figures, claims and page of a token study."""

from ict_core.jobs.command import Given, Results, StoredFolder, command


@command("token-pages", portable=True, writes="results")
def run(stored: StoredFolder, results: Results, claims: Given) -> None:
    """Make the tables, figures, claims and page of a token study."""
    from ict_core.report.tokens import write_token_pages

    write_token_pages(stored, results, claims)
