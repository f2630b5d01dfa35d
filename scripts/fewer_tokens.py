"""Removes the tokens of the controls from a large stored bench, as they are half of its bytes: ``FOLDER``.

The tokens that the rules keep are measured on the baseline's tokens (``shadow.parquet``), so the bench loses nothing.
The ledger's claims about tokens of controls are then not tested. A token file of at most 20 MiB is left as it is.
"""

import sys
from pathlib import Path

from ict_core.evidence.bench import bench_controls
from ict_core.evidence.stored import Stored
from ict_core.store import records

LARGE = 20 * 2**20  # bytes


def main(folder: Path) -> None:
    """Rewrite the folder's ``tokens.parquet`` without the variants that are controls of a bench."""
    if (folder / "tokens.parquet").stat().st_size <= LARGE:
        return
    stored = Stored(folder)
    tokens = stored.frame("tokens")
    kept = tokens[~tokens["variant"].isin(bench_controls(stored.settings))]
    if len(kept) < len(tokens):
        records.write_frame(kept.reset_index(drop=True), folder / "tokens.parquet", records.STUDY_TOKENS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
