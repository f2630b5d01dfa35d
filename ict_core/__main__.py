"""`python -m ict_core` is `ict`: accelerate starts a module by its name."""

import sys

from ict_core.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
