"""The figures of a study: each module draws one from a data frame; `write.py` alone touches files."""
