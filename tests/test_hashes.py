"""What is installed is named by its content: packages by hash, actions and base images by digest."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements"
LOCKS = sorted(REQUIREMENTS.glob("*.lock"))
PIN = re.compile(r"[\w.-]+==[\w.+-]+(?: ; [^\\\n]+)?(?: \\\n    --hash=sha256:[0-9a-f]{64})+\n")


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_pin_of_a_lock_has_its_hashes(lock):
    comment, _, pins = lock.read_text().partition("\n")
    assert comment.startswith("# ") and PIN.search(pins) and PIN.sub("", pins) == ""


def test_torch_for_the_cpu_alone_has_no_hash():
    (file,) = REQUIREMENTS.glob("*-unhashed.txt")
    pins = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    assert (file.name, len(pins)) == ("cpu-unhashed.txt", 1)
    assert f"\n{pins[0]} \\\n" in (REQUIREMENTS / "gpu.lock").read_text() and pins[0].startswith("torch==")


@pytest.mark.parametrize("call", [["env"], ["env", "LOCK=gpu"], ["env", "LOCK=evidence"], ["site"]], ids=" ".join)
def test_pip_is_never_called_without_hashes_but_for_torch_and_the_project(call):
    command = ["make", "--dry-run", "--always-make", *call, f"PYTHON={sys.executable}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    without = [line for line in done.stdout.splitlines() if "/pip install" in line and "--require-hashes" not in line]
    named = {"env": ["-r requirements/cpu-unhashed.txt", "-e ."], "site": []}.get(" ".join(call), ["-e ."])
    assert len(without) == len(named) and all(map(str.endswith, without, named)), without


def test_actions_and_base_images_are_named_by_digest():
    workflows = [*(ROOT / ".github/workflows").glob("*.y*ml")]
    jobs = [job for file in workflows for job in yaml.safe_load(file.read_text())["jobs"].values()]
    used = [part["uses"] for job in jobs for part in (job, *job.get("steps", [])) if "uses" in part]
    assert used and [use for use in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", use)] == []
    text = (ROOT / "Containerfile").read_text()
    images = re.findall(r"(?:^ARG BASE|^# with CUDA)=(.*)$", text, re.MULTILINE)
    assert len(images) == 2 and set(re.findall(r"^FROM .*", text, re.MULTILINE)) == {"FROM ${BASE}"}
    assert [image for image in images if not re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image)] == []
