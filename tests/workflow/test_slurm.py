"""The Slurm profile on a real Slurm: jobs that finish, fail and are requeued; GPUs; a rule of the project."""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from repository_copy import REPOSITORY, Copy
from slurm_cluster import SlurmCluster
from system import needs

pytestmark = pytest.mark.long
TOKEN = "hf_a_secret_that_is_shown_nowhere"
AUDIT = "results/smoke/contamination.parquet"  # of a rule that reads what others made
# Each start of a command leaves a line, so that a job which starts twice is seen.
WORKFLOW = """
rule all:
    input:
        "finish", "fail", "requeued",

rule finish:
    output:
        "finish",
    threads: 1
    resources:
        gpu=4,
        mem_mb=3000,
        runtime=10,
    shell:
        "ict lease --gpus {resources.gpu} --"
        " bash -c 'echo $CUDA_VISIBLE_DEVICES ${{#HF_TOKEN}} | tee -a starts' > {output}"

rule fail:
    output:
        "fail",
    log:
        "fail.log",
    shell:
        "echo the reason > {log}; exit 7"

rule requeued:
    output:
        "requeued",
    shell:
        "restarts=${{SLURM_RESTART_COUNT:-0}}; echo $restarts >> restarts; touch {output};"
        " if [ $restarts = 0 ]; then scontrol requeue $SLURM_JOB_ID; sleep 600; fi"
"""


@dataclass(frozen=True)
class Ran:
    """What two calls of Snakemake left: the little workflow's in ``folder``, the project's in ``copy``."""

    folder: Path
    output: str
    copy: Path
    copy_output: str
    jobs: dict[str, tuple[str, str, str]]  # by rule: state, time limit, resources as Slurm's accounting has them


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> Ran:
    needs("slurm-wlm", "slurmdbd", "munge", "mariadb-server-core", "mariadb-client-core")
    folder, copy = tmp_path_factory.mktemp("little"), Copy(tmp_path_factory.mktemp("project")).folder
    (folder / "Snakefile").write_text(WORKFLOW)
    node = folder / "bin" / "nvidia-smi"
    node.parent.mkdir()
    node.write_text("#!/bin/sh\nfor i in 0 1 2 3 4 5 6 7; do echo $i, GPU-$i; done\n")
    node.chmod(0o755)
    with tempfile.TemporaryDirectory(prefix="slurm-") as short, SlurmCluster(Path(short)) as cluster:
        path = os.pathsep.join([str(node.parent), str(Path(sys.executable).parent), cluster.environment["PATH"]])
        environment = cluster.environment | {"PATH": path, "HF_TOKEN": TOKEN, "ICT_LOCKS": str(folder / "locks")}

        def start(where: Path, profile: Path, *arguments: str) -> subprocess.Popen:
            with (where / "output").open("w") as output:
                return subprocess.Popen(
                    ["snakemake", "--profile", str(profile), "--verbose", *arguments],
                    cwd=where,
                    env=environment | {"PYTHONPATH": str(copy)},
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )

        little = start(folder, REPOSITORY / "workflow/profiles/slurm")
        project = start(copy, Path("profiles/slurm"), AUDIT, "--config=study=smoke")
        try:
            project.wait(timeout=240)
            for _ in range(240):  # seconds; after the last failure Snakemake would rest for another minute
                if little.poll() is not None or "2 of 4 steps" in (folder / "output").read_text():
                    break
                time.sleep(1)
        finally:
            little.kill()
            project.kill()
            little.wait()
            project.wait()
        listing = cluster.call("sacct", "-XPn", "--format=Comment,State,Timelimit,AllocTRES")
    jobs = {comment: tuple(values) for comment, *values in (line.split("|") for line in listing.splitlines())}
    return Ran(folder, (folder / "output").read_text(), copy, (copy / "output").read_text(), jobs)


def test_a_job_finishes_with_the_gpus_memory_and_time_of_its_rule(ran):
    state, limit, resources = ran.jobs["rule_finish"]
    assert (state, limit) == ("COMPLETED", "00:10:00")
    assert {"cpu=32", "gres/gpu=4", "mem=3000M", "node=1"} <= set(resources.split(","))


def test_a_job_of_four_gpus_is_started_once_and_leases_what_slurm_gave(ran):
    (start,) = (ran.folder / "starts").read_text().splitlines()
    devices, length_of_token = start.split()
    assert len(set(devices.split(","))) == 4
    assert int(length_of_token) == len(TOKEN)


def test_a_rule_without_resources_gets_the_defaults_of_the_profile(ran):
    _, limit, resources = ran.jobs["rule_fail"]
    assert limit == "02:00:00"
    assert {"cpu=1", "mem=8000M", "node=1"} <= set(resources.split(",")) and "gpu" not in resources


def test_a_failing_job_is_told(ran):
    assert ran.jobs["rule_fail"][0] == "FAILED" and "SLURM status is: 'FAILED'" in ran.output
    assert not (ran.folder / "fail").exists()


def test_a_requeued_job_runs_again_to_its_end(ran):
    assert (ran.folder / "restarts").read_text().split() == ["0", "1"]
    assert ran.jobs["rule_requeued"][0] == "COMPLETED"
    assert (ran.folder / "requeued").exists()
    assert "2 of 4 steps (50%) done" in ran.output


def test_a_rule_of_the_project_runs_through_the_profile(ran):
    assert "profiles/slurm" in ran.copy_output and "profiles/default" in ran.copy_output
    assert ran.jobs["rule_contamination"][0] == "COMPLETED", ran.copy_output[-3000:]
    assert (ran.copy / AUDIT).stat().st_size


def test_no_token_is_shown(ran):
    shown = [ran.output, ran.copy_output]
    for folder in (ran.folder, ran.copy):
        shown += [path.read_text() for path in (folder / ".snakemake").rglob("*.log")]
    assert len(shown) > 4 and "sbatch --parsable" in ran.output
    assert not any(TOKEN in text for text in shown)


def test_a_training_that_ends_early_is_submitted_again_more_often_than_the_default_profile_says(tmp_path):
    """By Snakemake on this machine, in a folder with the profiles of the project; a rule of another name is not."""
    (tmp_path / "profiles").symlink_to(REPOSITORY / "workflow/profiles")
    script = "echo >> {output}.tries; test $(wc -l < {output}.tries) = 4 && touch {output}"
    rules = [f"rule {name}:\n    output: '{name}.made'\n    shell: '{script}'\n" for name in ("train", "grade")]
    (tmp_path / "Snakefile").write_text("".join(rules))
    options = ["--profile", "profiles/slurm", "--executor", "local", "--cores", "2", "--latency-wait", "0"]
    command = [sys.executable, "-m", "snakemake", *options, "train.made", "grade.made"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and (tmp_path / "train.made").exists(), done.stderr
    assert len((tmp_path / "grade.made.tries").read_text().splitlines()) == 2
