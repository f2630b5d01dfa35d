"""What a study will cost before it runs: jobs, hours, memory, disk, and what a change would rerun.

Pure functions of the study and of `configs/plan.yaml`, but for `_measured.py`, which reads what finished jobs took, and
`_rerun.py`, which asks Snakemake.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
