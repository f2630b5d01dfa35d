"""Pass@k, intervals, tests, power and what varies: data frames in, data frames out, no torch."""
