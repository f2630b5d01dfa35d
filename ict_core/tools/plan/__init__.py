"""What a study will cost before it runs: jobs, hours, memory, disk, and what a change would rerun.

Pure functions of the study and of `configs/plan.yaml`, but for `measured.py`, which reads what finished jobs took, and
`rerun.py`, which asks Snakemake.
"""
