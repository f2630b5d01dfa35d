"""Builds a release into dist/ and says what publishing needs: `make release`.

The version is stated in pyproject.toml, in CITATION.cff, and in the newest heading of CHANGELOG.md, below an empty
"Unreleased".
"""

import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PUBLISHING = """\
{files} are built and checked. To publish version {version}:

  1. `.ci/run` is green on this commit, {commit}.
  2. An account on PyPI that owns the project ict-core, with a token in TWINE_PASSWORD (TWINE_USERNAME=__token__).
  3. `make publish` builds and checks them again, then runs
{commands}
  4. The section {version} of CHANGELOG.md is the text of the release on GitHub."""


def version() -> str:
    """The project's version. Exits with a message if a file states another one, or changes are not listed under it."""
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    if cited is None or cited[1] != stated:
        sys.exit(
            f"CITATION.cff: version: {cited and cited[1]} is not allowed; allowed: {stated}, that of pyproject.toml"
        )
    unreleased, newest = re.split(r"^## \[", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)[1:3]
    if not re.match(rf"{re.escape(stated)}\] - \d{{4}}-\d\d-\d\d\n", newest):
        sys.exit(f"CHANGELOG.md: {newest.splitlines()[0]!r} is not allowed; allowed: [{stated}] - YYYY-MM-DD")
    if unreleased.removeprefix("Unreleased]").strip():
        sys.exit(f"CHANGELOG.md: changes stand under [Unreleased]; allowed: all under [{stated}] or a later version")
    return stated


def build(out: Path) -> list[Path]:
    """Build an sdist of the committed files, and a wheel from the sdist."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "source"
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(source)], check=True)
        code = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"
        out.mkdir(exist_ok=True)
        ran = subprocess.run(
            [sys.executable, "-c", code, str(out.absolute())], cwd=source, check=True, capture_output=True, text=True
        )
        sdist = out / ran.stdout.split()[-1]
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
        subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", str(out), str(sdist)], check=True)
    (wheel,) = out.glob(f"*{sdist.name.removesuffix('.tar.gz').removeprefix('ict_core')}-*.whl")
    return [sdist, wheel]


def main() -> None:
    """Check, build, check the built files, and print the remaining steps, or take them with --publish."""
    stated, twine, *publish = version(), *sys.argv[1:]
    git = ["git", "-C", str(ROOT)]
    if subprocess.run([*git, "status", "--porcelain"], capture_output=True, check=True).stdout:
        sys.exit("git: changes are not committed; allowed: a clean checkout")
    files = build(ROOT / "dist")
    subprocess.run([*twine.split(), "check", "--strict", *map(str, files)], check=True)
    commands = [
        [*git, "tag", "--annotate", f"v{stated}", "--message", f"Version {stated}"],
        [*git, "push", "origin", f"v{stated}"],
        [*twine.split(), "upload", *map(str, files)],
    ]
    if publish == ["--publish"]:
        for command in commands:
            subprocess.run(command, check=True)
        return
    commit = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout
    names = " ".join(str(file.relative_to(ROOT)) for file in files)
    lines = "\n".join(f"       {shlex.join(command)}" for command in commands)
    print(PUBLISHING.format(files=names, version=stated, commit=commit.strip(), commands=lines))


if __name__ == "__main__":
    main()
