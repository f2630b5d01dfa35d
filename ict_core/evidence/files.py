"""The names of the files that evidence is made from, by the names of their frames; imports nothing that takes time."""

from ict_core.statistics.schemas import STATISTICS as _STATISTICS

SETTINGS, STATISTICS = "study.json", "statistics"
MEASURED = {
    "scores": "scores.parquet",
    "log": "train_log.parquet",
    "tokens": "tokens.parquet",
    "shadow": "shadow.parquet",
    "overlap": "overlap.parquet",
    "compute": "compute.parquet",
    "contamination": "contamination.parquet",
    "near_duplicates": "near_duplicates.parquet",
}
MADE = {name: f"{STATISTICS}/{name}.parquet" for name in _STATISTICS}
"""What the statistics stage writes, under the folder of what is made."""
