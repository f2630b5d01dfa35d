"""What a study will cost before it runs: jobs, hours, memory, disk, and what a change would rerun."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
