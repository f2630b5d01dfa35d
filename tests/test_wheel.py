"""The package as a wheel: what it holds, what it asks for, and that it works where no checkout is."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
NOT_IMPORTED = {"setuptools"}
EXAMPLES = [
    file for file in sorted((REPOSITORY / "examples").glob("*.py")) if "sys.argv" in file.read_text()
]  # scripts
PLUGINS = re.compile(r"snakemake-(executor|storage)-plugin-.*")

ABSENT = """import sys
class Absent:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("torch", "transformers", "trl", "vllm"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
"""


def names(file: str) -> set[str]:
    """The packages that a file of requirements names itself."""
    lines = (REPOSITORY / "requirements" / file).read_text().splitlines()
    own = [line.partition("#")[0].strip() for line in lines]
    return {re.split(r"[=<>]", line)[0] for line in own if line and not line.startswith("-")}


def declared(*groups: str) -> set[str]:
    wanted = [line for group in groups for line in PROJECT["optional-dependencies"][group]]
    return {re.split(r"[=<>]", line)[0] for line in wanted}


def test_what_the_package_asks_for_is_what_the_locks_are_made_of():
    own = {re.split(r"[=<>]", line)[0] for line in PROJECT["dependencies"]}
    assert own | declared("workflow") | NOT_IMPORTED == names("evidence.in")
    assert declared("train") == {name for name in names("common.in") if not PLUGINS.fullmatch(name)}
    assert declared("vllm-cpu") <= names("cpu.in") and declared("vllm") <= names("gpu.in")


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder into which the wheel was installed, far from the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    copy = folder / "source"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(REPOSITORY), str(copy)], check=True)
    build = [*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(copy)]
    subprocess.run(build, check=True)
    (wheel,) = folder.glob("ict_core-*.whl")
    target = folder / "site"
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--target", str(target), str(wheel)], check=True)
    return target


def ran(installed: Path, *command: str) -> str:
    """What Python printed with the wheel's package in place of the checkout's."""
    done = subprocess.run(
        [sys.executable, "-P", *command],
        cwd=installed.parent,
        env={"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin", "HOME": str(installed.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_library_and_of_its_configurations(installed):
    listed = subprocess.run(["git", "ls-files", "ict_core"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    whole = {file for file in listed.stdout.split() if not file.endswith("configs")}
    whole |= {f"ict_core/{file.relative_to(REPOSITORY)}" for file in (REPOSITORY / "configs").rglob("*.yaml")}
    (wheel,) = installed.parent.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    assert whole - held == set()
    assert not any(name.startswith(("tests/", "workflow/")) for name in held)


@pytest.mark.slow
def test_the_command_and_the_names_of_a_method_work_without_a_checkout(installed):
    where = ran(installed, "-c", "import ict_core; print(ict_core.__file__)")
    assert where.startswith(str(installed))
    assert "Usage: ict" in ran(installed, "-m", "ict_core", "--help")
    found = ran(installed, "-c", "from ict_core import Choice; print(Choice.of('ict-10', 0).normaliser)")
    assert found == "kept\n"


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.stem)
def test_the_examples_run_by_the_installed_package(installed, example, tiny_checkpoint, tmp_path):
    alone = shutil.copy(example, tmp_path)  # away from the checkout
    assert "2" in ran(installed, alone, str(tiny_checkpoint), "3").splitlines()[-1]


@pytest.mark.slow
def test_a_study_asks_for_a_checkout(installed):
    with pytest.raises(subprocess.CalledProcessError) as raised:
        ran(installed, "-m", "ict_core", "check", "smoke")
    assert "a study runs in a checkout of the repository" in raised.value.stdout


@pytest.mark.slow
def test_logs_are_compared_without_a_checkout_and_without_what_trains(installed):
    logs = str(REPOSITORY / "tests/comparison/logs/lm_eval")
    code = f"{ABSENT}from ict_core.commands.cli import main; main(sys.argv[1:])"
    assert "24 problems" in ran(installed, "-c", code, "compare", logs, "--metric", "acc")
