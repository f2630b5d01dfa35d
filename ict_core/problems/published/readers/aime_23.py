"""AIME 2023: the 30 problems of the two American Invitational Mathematics Examinations, answers 0 to 999.

Hub: AI-MO/aimo-validation-aime, one unnamed config, split train, 90 rows of 2022 to 2024; the rows of 2023 have
`2023_AIME` in their url. Some answers are padded with zeros to three digits. A mirror may hold the 30 rows alone, under
math-ai/aime23, with an id instead of the url.
"""

import re

from ict_core.problems.published.load import Item, Row, integer, text

_URL = re.compile(r"2023_AIME_(II?)_Problems/Problem_([0-9]+)$")


def read(row: Row) -> Item | None:
    """A row with `problem`, `answer`, and `url` (hub) or `id` such as `2023-II-7` (mirror); None for another year."""
    if "url" in row:
        url = text(row, "url")
        if "2023_AIME" not in url:
            return None
        match = _URL.search(url)
        if not match:
            raise ValueError(f"the url {url!r} does not end as 2023_AIME_I_Problems/Problem_1 does")
        identifier = f"2023-{match[1]}-{match[2]}"
    else:
        identifier = text(row, "id")
        if not re.fullmatch(r"2023-II?-[0-9]+", identifier):
            raise ValueError(f"the id {identifier!r} is not of the form 2023-II-7")
    return Item(identifier, text(row, "problem"), integer(row.get("answer")))
