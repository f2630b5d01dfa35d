"""Puts a problem into the words of its set's template."""

import re

from ict_core.grading.gold import LETTERS
from ict_core.problems.published.item import Item

_PLACE = re.compile(r"\{(question|options)\}")


def prompt(template: str, item: Item) -> str:
    r"""The template with ``{question}`` and ``{options}`` filled in; other braces, as in ``\boxed{}``, stay.

    Args:
        template: `prompt.template` of the set's YAML file.
        item: its choices, if any, become four lines ``A) ...`` to ``D) ...``.
    """
    lines = [f"{letter}) {choice}" for letter, choice in zip(LETTERS, item.choices or (), strict=False)]
    shown = {"question": item.question, "options": "\n".join(lines)}
    return _PLACE.sub(lambda place: shown[place[1]], template)  # in one pass: a question may hold such words itself
