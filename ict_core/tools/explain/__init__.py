"""From a number in a table back to the test, the runs, the samples, the checkpoint, the configuration, the commit."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
