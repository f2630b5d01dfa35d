"""Puts a problem into the words of its set's template, and takes it out of them again."""

import re

from ict_core.problems.published.item import LETTERS, Item

_PLACE = re.compile(r"\{(question|options)\}")
_PATTERNS = {
    "question": "(?P<question>.*)",
    "options": "\n".join(rf"{letter}\) (?P<{letter}>.*)" for letter in LETTERS),
}


def prompt(template: str, item: Item) -> str:
    r"""The template with ``{question}`` and ``{options}`` filled in; other braces, as in ``\boxed{}``, stay.

    Args:
        template: `prompt.template` of the set's YAML file.
        item: its choices, if any, become four lines ``A) ...`` to ``D) ...``.
    """
    lines = [f"{letter}) {choice}" for letter, choice in zip(LETTERS, item.choices or (), strict=False)]
    shown = {"question": item.question, "options": "\n".join(lines)}
    return _PLACE.sub(lambda place: shown[place[1]], template)  # in one pass: a question may hold such words itself


def unfilled(template: str, filled: str) -> tuple[str, tuple[str, ...]]:
    """The question and the options (none without ``{options}``) from which :func:`prompt` made a text.

    Where the line of a question could be taken for an option, the options are the last lines that can be.

    Raises:
        ValueError: the text was not made from this template; nothing of it is in the message.
    """
    words = _PLACE.split(template)  # words of the template and names of places in turn
    pattern = "".join(_PATTERNS[part] if place % 2 else re.escape(part) for place, part in enumerate(words))
    match = re.fullmatch(pattern, filled, re.DOTALL)
    if match is None:
        raise ValueError("a prompt was not made from the template of its set")
    return match["question"], tuple(match[letter] for letter in LETTERS if letter in match.re.groupindex)
