import hostile_graders
import pytest

from ict_core.errors import UserError
from ict_core.grading import GradingPool, Verdict
from ict_core.grading._answers import settle
from ict_core.grading._grade import CANARIES, check_canaries


@pytest.mark.slow
def test_the_real_grader_passes():
    with GradingPool(workers=1, seconds=10, memory_mib=1024) as pool:
        check_canaries(pool)


def test_math_verify_is_asked_for_right_and_wrong_answers():
    asked = [c.status for c in CANARIES if not isinstance(settle((c.text, c.gold, c.answer_type)), Verdict)]
    assert set(asked) == {"correct", "wrong"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("grader", "complaint"),
    [
        ("always_correct", "'another fraction': expected wrong, found correct"),
        ("always_wrong", "'fraction with a slash': expected correct, found wrong"),
        ("always_fails", "'fraction with a slash': expected correct, found error"),
    ],
)
def test_a_broken_grader_is_named(grader, complaint):
    broken = getattr(hostile_graders, grader)
    with (
        GradingPool(workers=1, seconds=5, memory_mib=256, grade=broken) as pool,
        pytest.raises(UserError, match=complaint),
    ):
        check_canaries(pool)
