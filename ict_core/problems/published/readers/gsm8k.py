"""GSM8K, test and train: grade-school word problems with a number for an answer.

Paper: Cobbe et al. 2021, arXiv:2110.14168. Hub: openai/gsm8k, config main (1,319 test and 7,473 training rows). The
answer stands behind `####` at the end of the worked solution, at times with thousands separators. Rows have no id of
their own, so it is made from the question.
"""

from ict_core.problems.published import Item, Row, content_id, number, text


def read(row: Row) -> Item:
    """A row with `question` and `answer`, the worked solution."""
    question = text(row, "question")
    _, mark, answer = text(row, "answer").rpartition("####")
    if not mark:
        raise ValueError("the solution has no line `#### <number>`")
    return Item(content_id(question), question, number(answer))
