"""The subcommands of `ict`: each takes the parsed options and runs one stage."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
