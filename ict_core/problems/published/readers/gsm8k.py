"""GSM8K, test and train: grade-school word problems with a number as the answer.

Paper: Cobbe et al. 2021, arXiv:2110.14168. Hub: openai/gsm8k, config main (1,319 test and 7,473 training rows). The
answer follows `####` at the end of the worked solution, sometimes with thousands separators. Rows have no id, so it is
made from the question.
"""

import re

from ict_core.problems.published.load import Item, Row, content_id, number, text


def read(row: Row) -> Item:
    """A row with `question` and `answer`, the worked solution."""
    question = text(row, "question")
    _, mark, answer = text(row, "answer").rpartition("####")
    if not mark:
        raise ValueError("the solution has no line `#### <number>`")
    return Item(content_id(question), question, number(answer))


def solution(row: Row) -> str:
    r"""The worked solution without its marks `<<...>>`, the answer in a ``\boxed{}`` as the prompt asks for it."""
    steps, _, answer = re.sub(r"<<[^<>]*>>", "", text(row, "answer")).rpartition("####")
    return f"{steps.strip()}\nThe final answer is \\boxed{{{number(answer)}}}."
