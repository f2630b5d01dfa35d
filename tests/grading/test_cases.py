"""The table of cases: what a person would call right is right, and no near miss is."""

import pytest
from cases import CASES

from ict_core.grading import grade_answer

ROWS = [pytest.param(*row[:4], id=f"{name}: {row[2]}") for name, rows in CASES.items() for row in rows]


@pytest.mark.parametrize(("kind", "gold", "text", "status"), ROWS)
def test_a_text_has_the_status_that_a_person_would_give_it(kind, gold, text, status):
    assert grade_answer(text, gold, kind).status == status


def test_a_third_of_the_table_are_near_misses():
    statuses = [row[3] for rows in CASES.values() for row in rows]
    assert len(statuses) >= 150 and len(statuses) - statuses.count("correct") >= 50
