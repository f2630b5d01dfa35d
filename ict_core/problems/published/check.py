"""Compares what was read with what the set's YAML file states: a changed data set is an error, not a surprise."""

import hashlib
import json
from collections.abc import Sequence

from ict_core.config.published import PublishedSet
from ict_core.errors import UserError
from ict_core.grading.gold import refusal
from ict_core.problems.published.item import Item

_MEND = "the data set was changed: pin the revision that has these rows, or look at the change and state the new value"


def content_hash(items: Sequence[Item]) -> str:
    """SHA-256 over one line of JSON an item, ``[id, question, answer, choices]``, in order of the ids.

    Row order, other columns and the kind of file have no part in it. UTF-8, no ASCII escapes, no spaces between values.
    """
    lines = [
        json.dumps(item, ensure_ascii=False, separators=(",", ":")) + "\n"
        for item in sorted(items, key=lambda item: item.id)
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def check_content(published: PublishedSet, items: Sequence[Item], origin: str) -> None:
    """Check the row count, the answers' form and the content hash (which a gated set may leave out).

    Args:
        published: what its YAML file states.
        items: all problems that were read, before any are drawn.
        origin: where from, for the message.

    Raises:
        UserError: they differ; the message names the file, the origin, and both values.
    """
    if len(items) != published.rows:
        raise UserError(f"{published.file}: rows: {published.rows} stated, but {origin} has {len(items)}; {_MEND}")
    for item in items:
        has_choices = item.choices is not None
        if refusal(item.answer, published.answer_type) or has_choices != (published.answer_type == "choice"):
            raise UserError(
                f"{published.file}: answer_type: {published.answer_type} does not fit the problem {item.id} of "
                f"{origin}; allowed: the answer type of the reader {published.reader}"
            )
    sha256 = content_hash(items)
    if published.sha256 is not None and sha256 != published.sha256:
        raise UserError(f"{published.file}: sha256: {published.sha256} stated, but {origin} has {sha256}; {_MEND}")
