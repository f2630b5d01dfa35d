"""Makes the synthetic study of tests/statistics, and its frames of tests/figures, importable here."""

import sys
from pathlib import Path

for package in ("statistics", "figures"):
    sys.path.insert(0, str(Path(__file__).parents[1] / package))
