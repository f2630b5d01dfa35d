"""Published benchmarks and training sets, read through `datasets` from the Hugging Face hub or from a mirror folder.

`readers/` has one file per data set; `load.py` fetches rows, checks them against the set's file, and fills prompts.
"""
