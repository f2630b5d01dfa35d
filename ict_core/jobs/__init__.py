"""The jobs of a study: how they are started, how far they are, which files are damaged, why a job has failed."""
