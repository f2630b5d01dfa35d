"""The container file, as far as it can be tried without an engine: what it copies is enough for what it runs."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "Containerfile").read_text(encoding="utf-8")
STEPS = [line for line in TEXT.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]


@pytest.fixture
def copied(tmp_path) -> Path:
    """What its COPY lines put into the image."""
    for step in STEPS:
        if step.startswith("COPY "):
            *sources, target = step.split()[1:]
            for source in sources:
                path = ROOT / source
                if path.is_dir():
                    shutil.copytree(path, tmp_path / target, symlinks=True)
                else:
                    shutil.copy2(path, tmp_path / target)
    return tmp_path


def test_every_step_is_known_and_every_argument_is_declared():
    assert {step.split()[0] for step in STEPS} <= {"ARG", "FROM", "ENV", "RUN", "WORKDIR", "COPY"}
    declared = set(re.findall(r"^ARG (\w+)", TEXT, re.MULTILINE))
    assert set(re.findall(r"\$\{(\w+)\}", TEXT)) - {"PATH"} <= declared
    assert set(re.findall(r"--build-arg (\w+)=", TEXT)) <= declared
    for lock in {"cpu", *re.findall(r"--build-arg LOCK=(\w+)", TEXT)}:
        assert (ROOT / f"requirements/{lock}.lock").exists()


@pytest.mark.parametrize("lock", ["cpu", "gpu"])
def test_the_environment_can_be_made_of_what_is_copied(copied, lock):
    command = ["make", "--dry-run", "env", f"LOCK={lock}", f"PYTHON={sys.executable}"]
    done = subprocess.run(command, cwd=copied, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and f"-r requirements/{lock}.lock" in done.stdout, done.stderr
    venv = re.search(r"install .*-e \.", done.stdout)
    assert venv and list(copied.glob("requirements/*.lock"))


@pytest.mark.slow
def test_the_package_can_be_built_of_what_is_copied(copied):
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--wheel-dir", "wheels", "."], cwd=copied, check=True)
    assert list((copied / "wheels").glob("ict_core-*.whl"))
    assert (copied / "ict_core/configs/methods/ict-10.yaml").exists()  # the link is copied as a link


def test_what_is_large_or_private_stays_outside():
    ignored = (ROOT / ".containerignore").read_text().splitlines()
    assert {".git", "results", ".venv*"} <= set(ignored)
