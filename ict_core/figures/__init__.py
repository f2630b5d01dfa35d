"""The figures of a study: each module draws one from data frames; only `write.py` writes files."""
