r"""Gold answers as their publishers write them, normalised: integers, numbers, and what stands in the last box."""

import re

from ict_core.grading.boxes import last_box
from ict_core.grading.gold import refusal

_INTEGER = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"-?(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.[0-9]+)?")


def integer(written: object) -> str:
    """An AIME answer, 0 to 999, without padding: ``"051"`` and 51 are ``"51"``.

    Raises:
        ValueError: it is something else.
    """
    shown = str(written).strip() if isinstance(written, str | int) and not isinstance(written, bool) else ""
    plain = str(int(shown)) if _INTEGER.fullmatch(shown) else ""
    if refusal(plain, "integer"):
        raise ValueError(f"the answer {written!r} is no integer from 0 to 999")
    return plain


def number(written: str) -> str:
    """A number without thousands separators: ``" 1,234"`` is ``"1234"``.

    Raises:
        ValueError: it is something else.
    """
    if not _NUMBER.fullmatch(written.strip()):
        raise ValueError(f"the answer {written.strip()[:100]!r} is no number")
    return written.strip().replace(",", "")


def boxed(solution: str) -> str:
    r"""What the last ``\boxed`` of a solution holds (see :func:`ict_core.grading.boxes.last_box`); it may be empty.

    Raises:
        ValueError: there is no box.
    """
    box = last_box(solution)
    if box is None:
        raise ValueError("the solution has no \\boxed answer")
    return box.answer
