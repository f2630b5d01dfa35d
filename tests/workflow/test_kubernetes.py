"""The workflow where only `results` are in a store, as on Kubernetes; nothing here runs on a cluster."""

import re

import pytest
from repository_copy import Copy


@pytest.mark.slow
def test_a_whole_study_finds_its_files_where_only_results_are_stored(tmp_path):
    """Inputs of the repository itself are no files of the store, and a generation finds its model there."""
    copy = Copy(tmp_path)
    storage = ("--default-storage-provider", "fs", "--default-storage-prefix", str(tmp_path / "volume"))
    plan = copy.made("--dry-run", "-p", "--config=study=smoke", *storage)
    checkpoints = re.findall(r"ict generate .* --checkpoint (\S+)", plan)
    assert len(checkpoints) == 6
    assert all(f"{tmp_path}/volume/results/smoke" in checkpoint for checkpoint in checkpoints)
