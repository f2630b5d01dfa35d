"""The jobs of a study: which there are, how they are started, how far they are, what is damaged, why one has failed."""
