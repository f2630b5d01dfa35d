"""The exceptions that a user is meant to read."""

from pathlib import Path


class UserError(Exception):
    """Bad input or a broken environment: the message says what is wrong and how to fix it.

    The CLI prints the message without a traceback and exits with status 2.
    """


def visible(text: str) -> str:
    """A line of anybody's text: what a terminal would act on, and lone surrogates, become their escapes."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def one_line(error: BaseException, most: int | None = None) -> str:
    """An exception's type, and its text on one line, cut to the first `most` characters (None: not cut)."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:most]}"


class TooMuch(UserError):
    """A number is too large; `most` is the largest possible value."""

    def __init__(self, fault: str, most: int) -> None:
        super().__init__(f"{fault}; allowed: at most {most}")
        self.most = most


class Damaged(UserError):
    """The content of a file is not what was written into it.

    Raising it changes no file. `snakemake` finds most damaged files when it starts, by
    :func:`ict_core.jobs.damage.damaged`, and sets them aside. The user has to delete the others.

    Args:
        fault: the file, and what is wrong with it.
        output: the stage's output, a file or folder, that has to be made again.
    """

    def __init__(self, fault: str, output: Path) -> None:
        super().__init__(fault)
        self.output = output
