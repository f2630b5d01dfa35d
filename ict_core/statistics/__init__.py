"""Pass@k, intervals over seeds, paired tests and Holm's correction: data frames in, data frames out, no torch."""
