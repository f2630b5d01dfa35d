"""The Kubernetes profile: what it submits, checked against the client's models, and that the jobs so described run."""

import base64
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from fake_kubernetes import FakeKubernetes
from kubernetes.client import ApiClient, V1Job
from repository_copy import REPOSITORY, Copy
from system import needs

pytestmark = [pytest.mark.slow, pytest.mark.long]
TOKEN = "hf_a_secret_that_is_shown_nowhere"
IMAGE = "registry.example/ict:0123abc"
AUDIT = "results/smoke/contamination.parquet"  # of a rule that reads what others made
DISK = {"ephemeral-storage": "100000M"}  # the profile's, as the rules say nothing
WORKFLOW = """
rule train:
    output:
        "trained",
    threads: 8
    resources:
        gpu=4,
        mem_mb=96000,
        runtime=600,
    shell:
        "echo ${{#HF_TOKEN}} > {output}"
"""


@dataclass(frozen=True)
class Ran:
    """What a run of Snakemake on the pretended cluster left."""

    output: str
    logs: str
    jobs: list[dict]
    secrets: dict[str, dict[str, str]]
    stored: Path


def run(folder: Path, source: Path, profile: Path, *arguments: str) -> Ran:
    """Run Snakemake in ``source``, a git repository, with ``folder`` for the cluster and its volume."""
    needs("rsync")
    subprocess.run(["git", "init", "-q"], cwd=source, check=True)
    subprocess.run(["git", "add", "-A"], cwd=source, check=True)
    stub = folder / "bin" / "pip"  # the executor has each job install the storage plugin, which is here already
    stub.parent.mkdir()
    stub.write_text("#!/bin/sh\n")
    stub.chmod(0o755)
    path = os.pathsep.join([str(stub.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    stored = folder / "volume"
    with FakeKubernetes(folder, {"PATH": path, "HOME": str(folder)}) as cluster:
        environment = os.environ | {"KUBECONFIG": str(cluster.configuration), "HF_TOKEN": TOKEN, "PATH": path}
        command = ["snakemake", "--profile", str(profile), "--verbose", "--seconds-between-status-checks", "2"]
        command += arguments
        command += ["--container-image", IMAGE, "--envvars", "HF_TOKEN", "--default-storage-prefix", str(stored)]
        command += ["--kubernetes-persistent-volumes", f"shared:{stored}"]
        result = subprocess.run(
            command,
            cwd=source,
            env=environment | {"PYTHONPATH": str(source)},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=240,
        )
        ran = Ran(result.stdout, cluster.logs(), cluster.jobs, cluster.secrets, stored)
    assert result.returncode == 0, ran.output[-3000:] + ran.logs[-3000:]
    return ran


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Ran:
    source = tmp_path_factory.mktemp("source")
    (source / "Snakefile").write_text(WORKFLOW)
    return run(tmp_path_factory.mktemp("cluster"), source, REPOSITORY / "workflow/profiles/kubernetes")


def container(job: dict) -> dict:
    (one,) = job["spec"]["template"]["spec"]["containers"]
    return one


def test_a_job_asks_for_its_rules_gpus_memory_and_cpus(trained):
    (job,) = trained.jobs
    resources = container(job)["resources"]
    assert container(job)["image"] == IMAGE
    assert resources["limits"] == {"nvidia.com/gpu": "4", "memory": "96000M", "cpu": "8000m", **DISK}
    assert resources["requests"] == resources["limits"] | {"cpu": "7600m"}
    assert {"name": "shared", "mountPath": str(trained.stored)} in container(job)["volumeMounts"]


def test_what_is_submitted_is_what_the_client_knows_as_a_job(trained):
    """Read into the client's model and written again, nothing is lost: every key is one of the API's, of its type."""
    client = ApiClient()
    for job in trained.jobs:
        body = type("Response", (), {"data": json.dumps(job)})
        model = client.deserialize(body, "V1Job")
        assert isinstance(model, V1Job)
        assert client.sanitize_for_serialization(model) == job
        assert len(job["metadata"]["name"]) <= 63


def test_a_token_reaches_the_job_by_a_secret_and_is_shown_nowhere(trained):
    ((secret, data),) = trained.secrets.items()
    assert base64.b64decode(data["hf_token"]).decode() == TOKEN
    reference = {"secretKeyRef": {"name": secret, "key": "hf_token"}}
    assert container(trained.jobs[0])["env"] == [{"name": "HF_TOKEN", "valueFrom": reference}]
    assert int((trained.stored / "trained").read_text()) == len(TOKEN)
    assert "Pod specification" in trained.output
    assert TOKEN not in trained.output + trained.logs + json.dumps(trained.jobs)


def test_a_rule_of_the_project_runs_in_an_empty_folder_from_what_is_stored(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    ran = run(
        tmp_path, Copy(source).folder, Path("profiles/kubernetes"), AUDIT, "--configfile", "configs/studies/smoke.yaml"
    )
    (job,) = ran.jobs
    assert container(job)["resources"]["limits"] == {"memory": "8000M", "cpu": "1000m", **DISK}
    assert (ran.stored / AUDIT).stat().st_size


def test_a_whole_study_finds_its_files_where_only_results_are_stored(tmp_path):
    """Inputs of the repository itself are no files of the store, and a generation finds its model there."""
    copy = Copy(tmp_path)
    storage = ("--default-storage-provider", "fs", "--default-storage-prefix", str(tmp_path / "volume"))
    plan = copy.snakemake("--dry-run", "-p", "--configfile", "configs/studies/smoke.yaml", *storage)
    assert plan.returncode == 0, plan.stdout[-3000:]
    checkpoints = re.findall(r"ict generate .* --checkpoint (\S+)", plan.stdout)
    assert len(checkpoints) == 5
    assert all(f"{tmp_path}/volume/results/smoke" in checkpoint for checkpoint in checkpoints)
