"""The stages of a study, one module each: its subcommand, what it reads, calls and writes, and its manifest.

A subcommand sets the numerics first, then imports what it computes with, and no more. What a job depends on follows
from these imports (:mod:`ict_core.store.code`).
"""
