"""What is installed is named by its content: packages by hash, actions and base images by digest."""

import os
import re
import shutil
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


@pytest.fixture
def checkout(tmp_path) -> Path:
    """What `make env LOCK=evidence` reads; the lock is empty."""
    for name in ("Makefile", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, tmp_path)
    for name in ("ict_core", "configs"):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True)
    (tmp_path / "requirements").mkdir()
    return tmp_path


def env(checkout: Path, *pins: str) -> subprocess.CompletedProcess[str]:
    """`make env` by a lock of these pins; the test is skipped, or fails with REQUIRE_ALL, where pip has no index."""
    (checkout / "requirements/evidence.lock").write_text("".join(pins))
    command = ["make", "env", "LOCK=evidence", f"PYTHON={sys.executable}"]
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MAKEFLAGS")}
    done = subprocess.run(command, cwd=checkout, env=inherited, capture_output=True, text=True, check=False)
    if "No matching distribution found" in done.stderr:
        verdict = pytest.fail if os.environ.get("REQUIRE_ALL") else pytest.skip
        verdict(f"pip reaches no index with this: {done.stderr.splitlines()[-2]}")
    return done


def with_other_hashes(pin: str) -> str:
    """The same with one digit of each hash changed."""
    return re.sub(r"sha256:(.)", lambda found: f"sha256:{'1' if found[1] == '0' else '0'}", pin)


@pytest.mark.slow
@pytest.mark.long
def test_a_package_with_another_hash_or_with_none_is_not_installed(checkout):
    pins = {pin.partition("==")[0]: pin for pin in PIN.findall((REQUIREMENTS / "evidence.lock").read_text())}
    setuptools, pin = pins["setuptools"], pins["connection-pool"]  # of which there is one file, which setuptools builds
    refused = [  # pip takes what is installed already as it is, so setuptools comes first
        (with_other_hashes(setuptools), pin, "DO NOT MATCH THE HASHES", "setuptools"),
        (setuptools, pin.partition(" \\")[0] + "\n", "Hashes are required", "connection-pool"),
    ]
    for *lock, told, name in refused:
        done = env(checkout, *lock)
        assert done.returncode == 2 and told in done.stderr and name in done.stderr, done.stderr
        assert not list(checkout.glob(".venv-evidence/lib/*/site-packages/connection_pool*"))
    done = env(checkout, setuptools, pin)
    assert done.returncode == 0, done.stderr
    assert list(checkout.glob(".venv-evidence/lib/*/site-packages/connection_pool-*.dist-info"))


def test_actions_and_base_images_are_named_by_digest():
    workflows = [*(ROOT / ".github/workflows").glob("*.y*ml")]
    jobs = [job for file in workflows for job in yaml.safe_load(file.read_text())["jobs"].values()]
    used = [part["uses"] for job in jobs for part in (job, *job.get("steps", [])) if "uses" in part]
    assert used and [use for use in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", use)] == []
    text = (ROOT / "Containerfile").read_text()
    images = re.findall(r"(?:^ARG BASE|^# with CUDA)=(.*)$", text, re.MULTILINE)
    assert len(images) == 2 and set(re.findall(r"^FROM .*", text, re.MULTILINE)) == {"FROM ${BASE}"}
    assert [image for image in images if not re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image)] == []
