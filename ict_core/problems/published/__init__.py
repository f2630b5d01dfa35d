"""Published benchmarks and training sets, read through `datasets` from the Hugging Face hub or from a mirror folder.

`readers/` has one file a data set, a pure function from a row to an `Item`; `load.py` fetches the rows, compares them
with what the set's YAML file states, and puts the question.
"""
