"""The stages of a study, a module each: what a stage reads, calls, writes and puts into its manifest.

Each has one public function, ``run``; a command of `ict` calls it. A module imports all that its stage computes with,
so what a job depends on follows from its imports (:mod:`ict_core.store._code`).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
