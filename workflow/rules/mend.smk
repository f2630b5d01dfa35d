# What is damaged is made anew; what has failed is told.
try:
    looks = workflow.is_main_process and not workflow.touch
    DAMAGED = damaged(Path(), STAGES) if looks else {}
except OSError as error:
    told = explain(error, "snakemake", Path(RESULTS)) or error
    raise WorkflowError(str(told)) from None

for fault in DAMAGED.values():
    logger.warning(f"damaged: {fault}")


def forcing(check):
    """Where Snakemake forces the jobs of incomplete outputs, as far as they are asked for, force those of damaged ones too."""

    async def check_incomplete(dag):
        dag.forcefiles.update(map(str, DAMAGED))
        await check(dag)

    return check_incomplete


def tell_failures(error, scheduler):
    """Print which jobs of this run have failed, and why; the error is that by which Snakemake itself ends."""
    if workflow.dryrun or not workflow.is_main_process:
        return
    jobs = {job for ended in (scheduler.failed, scheduler._toerror) for job in ended}
    failed = [(name_of(part), Path(part.log[0])) for job in jobs for part in parts(job)]
    for line in summary(failed, error, [Path(RESULTS), Path(".snakemake")]):
        print(line)
    print(
        f"Study {STUDY.name}: {len(failed)} failed job(s); logs in {FILES.logs}/."
        " What is finished is kept: once the cause is mended, the same command goes on."
    )


def parts(job):
    """The job itself; of a group those that have not ended well."""
    if not job.is_group():
        return [job]
    return [part for part in job.jobs if not all(Path(f).exists() for f in part.output)]


def name_of(job):
    """A job's rule, and its cell if it has one."""
    return " of ".join([job.rule.name, *filter(None, ["/".join(job.wildcards)])])


async def known_and_not_before_inputs(dag, job, outputs):
    """Note what a job has left; what looks older than an input, as the clock was set back, gets its time.

    Snakemake would fail the job, and delete them.
    """
    note(Path(), job.rule.name, map(Path, outputs))
    files = [f for f in [*job.input, *outputs] if await f.exists_local()]
    changed = {f: (await f.mtime_uncached(skip_storage=True)).local() for f in files}
    newest = max((changed[f] for f in job.input if f in changed), default=0)
    for output in outputs:
        if changed.get(output, newest) < newest:
            output.touch((newest, newest))


DAG.check_incomplete = forcing(DAG.check_incomplete)
DAG.check_output_mtime = known_and_not_before_inputs
JobScheduler.schedule = telling(JobScheduler.schedule, tell_failures)


onstart:
    # For its limit of 100 jobs a second Snakemake 9.27 plans a look for new jobs a second after every look, so that each
    # finished job leaves one more that comes back every second: a fifth of a core after 300 jobs (docs/log.md).
    if workflow.scheduling_settings.max_jobs_per_timespan.max_jobs == 100:
        workflow.scheduler.job_rate_limiter = None
    made = {Path(f) for job in workflow.dag.needrun_jobs() for f in job.output}
    for path in DAMAGED.keys() & made.union(*(path.parents for path in made)):
        print(f"{path} is kept as {set_aside(path)}")
    if workflow.local_exec:  # elsewhere a job is alone on its node
        begin_run(workflow.snakemake_tmp_dir)


onerror:
    tell_failures(None, workflow.scheduler)
    if workflow.scheduler._user_kill:  # SIGTERM: Snakemake itself would end with 1
        raise SystemExit(143)
