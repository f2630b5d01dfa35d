"""Names that the frames of the statistics share."""

BASE = "base"  # the untrained model: evaluated once, no training seeds
AVERAGE = "average"  # the benchmark name of the macro-average: every benchmark weighs the same, whatever its size
CELL = ["model", "variant", "seed"]
