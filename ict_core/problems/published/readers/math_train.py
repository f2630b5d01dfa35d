r"""MATH, the training split: 7,500 competition problems in seven configs, one per subject.

Paper: Hendrycks et al. 2021, arXiv:2103.03874. Hub: EleutherAI/hendrycks_math, split train. The answer is in the last
`\boxed` of the worked solution, twice without braces (`\boxed 2`). In two rows of number_theory, whose options are part
of the problem, that box is empty: they have no answer to verify against and are left out, so 7,498 remain. Rows have no
id, so it is made from subject and problem.
"""

import re

from ict_core.problems.published.load import Item, Row, boxed, content_id, text


def read(row: Row) -> Item | None:
    """A row with `problem`, `solution` and `type`, the subject; None if the answer is empty."""
    question, answer = text(row, "problem"), boxed(text(row, "solution"))
    if not answer:
        return None
    subject = re.sub(r"[^a-z]+", "_", text(row, "type").lower().replace("&", "and"))
    return Item(f"{subject}-{content_id(question)}", question, answer)
