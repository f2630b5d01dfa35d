"""Snakemake's looks for new jobs, of which `workflow/rules/common.smk` leaves one at a time."""

import threading
from pathlib import Path
from types import SimpleNamespace

from snakemake.scheduling.job_scheduler import JobScheduler

RULES = Path(__file__).parents[2] / "workflow" / "rules" / "common.smk"


def test_looks_that_are_asked_for_together_are_one_and_later_ones_come():
    source = RULES.read_text()
    found = {"threading": threading}
    exec(source[source.index("def look_again(") : source.index("assert JobScheduler.")], found)
    scheduler = SimpleNamespace(_open_jobs=threading.Semaphore(0))
    for _ in range(5):
        found["look_again"](scheduler, 0.05)
    assert scheduler._open_jobs.acquire(timeout=10)  # it comes,
    assert not scheduler._open_jobs.acquire(timeout=0.2)  # once,
    found["look_again"](scheduler, 0.05)
    assert scheduler._open_jobs.acquire(timeout=10)  # and again when it is asked for again


def test_what_is_replaced_is_what_snakemake_calls():
    assert "_schedule_reevalutation" in JobScheduler.schedule.__code__.co_names
