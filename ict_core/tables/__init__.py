"""The tables of a study. Each is a pure function of the study's frames; only `write.py` writes files."""
