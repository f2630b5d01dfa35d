"""What is shown of a token study."""

from pathlib import Path

from ict_core.report import write_token_pages


def run(stored: Path, results: Path, claims: Path) -> None:
    """Make tables, figures, claims and page of the frames in `stored`, into `results`."""
    write_token_pages(stored, results, claims)
