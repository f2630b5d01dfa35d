"""The figures of a study: each module draws one from a data frame; `_write.py` alone touches files."""
