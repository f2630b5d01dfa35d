"""The tables of a study: each is a pure function of the frames of the statistics; `_write.py` alone touches files."""
