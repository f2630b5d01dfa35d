"""Published benchmarks and training sets, read through `datasets` from the Hugging Face hub or from a mirror folder.

One file a data set holds its reader, a pure function from a row to an `Item`; `load.py` fetches the rows, `check.py`
compares them with what the set's YAML file states, `prompts.py` puts the question.
"""
