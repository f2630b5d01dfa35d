"""The one exception that a user is meant to read."""


class UserError(Exception):
    """Bad input or a broken environment: the message names the thing and the mend.

    The CLI prints the message without a traceback and exits with status 2.
    """
