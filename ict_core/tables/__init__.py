"""The tables of a study: each is a pure function of the frames of the statistics; `write.py` alone touches files."""
