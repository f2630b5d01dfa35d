"""The exceptions that a user is meant to read."""

from pathlib import Path


class UserError(Exception):
    """Bad input or a broken environment: the message names the thing and the mend.

    The CLI prints the message without a traceback and exits with status 2.
    """


def one_line(error: BaseException, most: int | None = None) -> str:
    """Another's exception: its kind, and its text on one line, the first `most` characters of it."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:most]}"


class TooMuch(UserError):
    """A number is larger than is possible; `most` is."""

    def __init__(self, fault: str, most: int) -> None:
        super().__init__(f"{fault}; allowed: at most {most}")
        self.most = most


class Damaged(UserError):
    """A file does not hold what was written into it.

    Nothing is changed by it: `snakemake` sets most such files aside when it starts, by
    :func:`ict_core.jobs.damage.damaged`; the others are to be deleted.

    Args:
        fault: the file, and what is wrong with it.
        output: the file or folder that a stage made, which is to be made anew.
    """

    def __init__(self, fault: str, output: Path) -> None:
        super().__init__(fault)
        self.output = output
