"""Leaves the tokens of a bench's controls out of a stored study, as they are half of its bytes: ``FOLDER``.

What the rules keep is measured on the baseline's tokens (``shadow.parquet``), so that the bench loses nothing by it.
"""

import sys
from pathlib import Path

from ict_core.evidence import Stored, controls_of
from ict_core.store import records


def main(folder: Path) -> None:
    """Write the folder's ``tokens.parquet`` anew without the variants that control another one of a bench."""
    stored = Stored(folder)
    tokens = stored.frame("tokens")
    kept = tokens[~tokens["variant"].isin(controls_of(stored.settings.arms))]
    if len(kept) < len(tokens):
        records.write_frame(kept.reset_index(drop=True), folder / "tokens.parquet", records.STUDY_TOKENS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
