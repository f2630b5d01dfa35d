"""MMLU-STEM: the 19 subjects of science and mathematics of MMLU, four options each.

Paper: Hendrycks et al. 2020, arXiv:2009.03300. Hub: TIGER-Lab/MMLU-STEM, one unnamed config, split test, 3,153 rows.
Twelve rows occur twice, as they do in MMLU: both stay, the second under an id that ends in `-2`. Rows have no id, so it
is made from subject, question and options.
"""

from ict_core.grading.gold import LETTERS
from ict_core.problems.published.load import Item, Row, content_id, text


def read(row: Row) -> Item:
    """A row with `subject`, `question`, `choices` (four texts) and `answer` (0 to 3)."""
    question, choices, answer = text(row, "question"), row.get("choices"), row.get("answer")
    if not isinstance(choices, list) or len(choices) != len(LETTERS) or not all(isinstance(c, str) for c in choices):
        raise ValueError("`choices` is no list of four texts")
    if not isinstance(answer, int) or not 0 <= answer < len(LETTERS):
        raise ValueError(f"the answer {answer!r} is no number from 0 to 3")
    options = tuple(choice.strip() for choice in choices)
    return Item(f"{text(row, 'subject')}-{content_id(question, *options)}", question, LETTERS[answer], options)
