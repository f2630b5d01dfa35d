"""The tables of a study: each is a pure function from a frame to a frame; `write.py` alone touches files."""
