"""The package as a wheel: what it holds, what it asks for, and that it works where no checkout is."""

import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
NOT_IMPORTED = {"setuptools"}
EXAMPLES = [file for file in sorted((REPOSITORY / "examples").glob("*.py")) if "sys.argv" in file.read_text()]
LOGS = REPOSITORY / "tests/comparison/logs"
COMPARE = ["compare", f"{LOGS}/lm_eval", "--metric", "acc"]
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


def pinned(package: str) -> str:
    """The version of a package that the locks are made of."""
    lines = (REPOSITORY / "requirements/common.in").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(f"{package}==")]
    return line


def declared(*groups: str) -> set[str]:
    wanted = [line for group in groups for line in PROJECT["optional-dependencies"][group]]
    return {re.split(r"[=<>]", line)[0] for line in wanted}


def test_what_the_package_asks_for_is_what_the_locks_are_made_of():
    own = {re.split(r"[=<>]", line)[0] for line in PROJECT["dependencies"]}
    assert own | declared("workflow") | NOT_IMPORTED == names("evidence.in")
    assert declared("train", "problems") == {name for name in names("common.in") if not PLUGINS.fullmatch(name)}
    assert declared("vllm-cpu") <= names("cpu.in") and declared("vllm") <= names("gpu.in")


release = runpy.run_path(str(REPOSITORY / "scripts/release.py"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """An environment outside the checkout that has the release's wheel; what it needs is this environment's."""
    folder = tmp_path_factory.mktemp("release")
    _, wheel = release["build"](folder)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    (packages,) = (folder / "venv/lib").glob("python*/site-packages")
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib"))  # after its own: the checkout is not in it
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(folder / "venv/bin/python")]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    return folder


def ran(installed: Path, *command: str) -> str:
    """What a program of the environment printed, away from the checkout."""
    program, *words = command
    done = subprocess.run(
        [installed / "venv/bin" / program, *words],
        cwd=installed,
        env={"PATH": "/usr/bin:/bin", "HOME": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_version_is_one_in_every_file_and_the_changelog_says_what_changed():
    """`make release` asks for more: that nothing stands under Unreleased."""
    stated = PROJECT["version"]
    assert f"\nversion: {stated}\n" in (REPOSITORY / "CITATION.cff").read_text()
    _, unreleased, newest, *_ = re.split(r"^## \[", (REPOSITORY / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert unreleased.startswith("Unreleased]\n") and newest.startswith(f"{stated}] - 20") and "\n- " in newest


@pytest.mark.slow
def test_the_sdist_has_what_builds_the_wheel_and_its_licence(installed):
    (sdist,) = installed.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        held = {name.partition("/")[2] for name in file.getnames()}
    assert held >= {"pyproject.toml", "README.md", "LICENSE", "ict_core/__main__.py"}


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_library_and_of_its_configurations(installed):
    listed = subprocess.run(["git", "ls-files", "ict_core"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    whole = {file for file in listed.stdout.split() if not file.endswith("configs")}
    whole |= {f"ict_core/{file.relative_to(REPOSITORY)}" for file in (REPOSITORY / "configs").rglob("*.yaml")}
    (wheel,) = installed.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    assert whole - held == set()
    assert not any(name.startswith(("tests/", "workflow/")) for name in held)


@pytest.mark.slow
def test_the_command_and_the_names_of_a_method_work_without_a_checkout(installed):
    where = ran(installed, "python", "-c", "import ict_core; print(ict_core.__file__)")
    assert where.startswith(str(installed))
    assert "Usage: ict" in ran(installed, "ict", "--help")
    found = ran(installed, "python", "-c", "from ict_core import Choice; print(Choice.of('ict-10', 0).normaliser)")
    assert found == "kept\n"


@pytest.mark.long
def test_what_the_wheel_declares_is_enough_in_an_empty_environment(installed, tiny_checkpoint, tmp_path):
    """pip resolves its needs, and then those of `train`, with the locked torch, as pip's newest brings CUDA."""
    (wheel,) = installed.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    pip = [str(tmp_path / "venv/bin/python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, str(wheel)], check=True)
    assert "24 problems" in ran(tmp_path, "ict", *COMPARE)
    subprocess.run([*pip, f"{wheel}[train]", pinned("torch")], check=True)
    for example in EXAMPLES:
        alone = shutil.copy(example, tmp_path)  # TRL's trainer with a selection, a rule and a loop of one's own
        assert "2" in ran(tmp_path, "python", alone, str(tiny_checkpoint), "3").splitlines()[-1]


@pytest.mark.long
def test_a_study_asks_for_a_checkout(installed):
    with pytest.raises(subprocess.CalledProcessError) as raised:
        ran(installed, "ict", "check", "smoke")
    assert "runs in a checkout" in raised.value.stdout


@pytest.mark.slow
def test_logs_are_compared_without_a_checkout_and_without_what_trains(installed):
    """All in one process, as its imports take the time."""
    calls = [COMPARE, ["compare", f"{LOGS}/lighteval"], ["compare", f"{LOGS}/inspect"]]
    code = f"{ABSENT}from ict_core.commands.cli import main\nfor call in {calls}: print('---', main(call))"
    of_lm_eval, of_lighteval, of_inspect = ran(installed, "python", "-c", code).split("--- 0\n")[:3]
    assert "24 problems" in of_lm_eval and "24 problems" in of_lighteval and "4 problems" in of_inspect


@pytest.mark.slow
def test_publishing_tags_the_version_pushes_the_tag_and_uploads_what_was_built(tmp_path):
    """In a clone whose origin is an empty repository, with a program in twine's place that notes what it is given."""
    clone, origin, twine = tmp_path / "clone", tmp_path / "origin.git", tmp_path / "twine"
    git = ["git", "-C", str(clone)]
    subprocess.run(["git", "init", "--quiet", "--bare", str(origin)], check=True)
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(REPOSITORY), str(clone)], check=True)
    subprocess.run([*git, "remote", "set-url", "origin", str(origin)], check=True)
    for key, value in (("user.name", "a"), ("user.email", "a@b")):
        subprocess.run([*git, "config", key, value], check=True)
    changes = clone / "CHANGELOG.md"
    text = re.sub(r"(?s)(## \[Unreleased\]\n).*?(?=^## \[)", r"\1\n", changes.read_text(), flags=re.MULTILINE)
    changes.write_text(text)
    subprocess.run([*git, "commit", "--quiet", "--all", "--allow-empty", "--message", "A release"], check=True)
    twine.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n')
    twine.chmod(0o755)
    subprocess.run([sys.executable, "scripts/release.py", str(twine), "--publish"], cwd=clone, check=True)
    tags = subprocess.run(["git", "-C", str(origin), "tag"], capture_output=True, text=True, check=True).stdout
    stated = tomllib.loads((clone / "pyproject.toml").read_text())["project"]["version"]
    assert tags == f"v{stated}\n"
    checked, uploaded = (tmp_path / "calls").read_text().splitlines()
    assert checked.startswith("check --strict ") and uploaded.startswith("upload ")
    assert checked.split()[2:] == uploaded.split()[1:] and ".whl" in uploaded and ".tar.gz" in uploaded
