"""Snakemake's looks for new jobs, which `workflow/rules/mend.smk` leaves to the jobs that end."""

from pathlib import Path

from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake.settings.types import MaxJobsPerTimespan

RULES = Path(__file__).parents[2] / "workflow" / "rules" / "mend.smk"


def test_without_a_limit_of_jobs_a_second_no_look_is_planned():
    source = RULES.read_text()
    assert "workflow.scheduler.job_rate_limiter = None" in source[source.index("onstart:") :]
    assert {"job_rate_limiter", "_schedule_reevalutation"} <= set(JobScheduler.schedule.__code__.co_names)


def test_the_limit_that_is_lifted_is_snakemakes_own_default():
    assert MaxJobsPerTimespan.parse_choice("100/1s").max_jobs == 100
