"""Published benchmarks and training sets, read through `datasets` from the Hugging Face hub or from a mirror folder.

`readers/` has one file a data set; `load.py` fetches rows, holds them against the set's file, and puts the question.
"""
