"""Leaves the tokens of a large bench's controls out of a stored study, as they are half of its bytes: ``FOLDER``.

What the rules keep is measured on the baseline's tokens (``shadow.parquet``), so that the bench loses nothing by it;
claims of the ledger about tokens of controls are left untested. A file of tokens of at most 20 MiB stays whole.
"""

import sys
from pathlib import Path

from ict_core.evidence.bench import controls_of
from ict_core.evidence.stored import Stored
from ict_core.store import records

LARGE = 20 * 2**20  # bytes


def main(folder: Path) -> None:
    """Write the folder's ``tokens.parquet`` anew without the variants that control another one of a bench."""
    if (folder / "tokens.parquet").stat().st_size <= LARGE:
        return
    stored = Stored(folder)
    tokens = stored.frame("tokens")
    kept = tokens[~tokens["variant"].isin(controls_of(stored.settings.arms))]
    if len(kept) < len(tokens):
        records.write_frame(kept.reset_index(drop=True), folder / "tokens.parquet", records.STUDY_TOKENS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
