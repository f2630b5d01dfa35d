"""The command `ict`, also `python -m ict_core`: accelerate starts a module by its name."""

import sys

from ict_core.process.supervise import forked


def main() -> int:
    """Run one subcommand, through the fork server with its imports where one runs; return its exit status."""
    status = forked(["ict", *sys.argv[1:]])
    if status is None:
        from ict_core.commands import cli

        return cli.main()
    return status


if __name__ == "__main__":
    sys.exit(main())
