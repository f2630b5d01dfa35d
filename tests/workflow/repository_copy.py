"""A copy of the repository for a test to run, edit and spoil."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ict_core.process.numerics import PINS

REPOSITORY = Path(__file__).resolve().parents[2]
ODD = "a b'c\"; $(touch pwned) `touch pwned` & *"
"""The name of a folder that a shell would take apart, or run."""
PARTS = [
    "Snakefile",
    "workflow",
    "profiles",
    "ict_core",
    "configs",
    "notebooks",
    "requirements",
    "environment.yml",
    "pyproject.toml",
    # what a study may have stand beside it
    *(
        path.relative_to(REPOSITORY).as_posix()
        for name in ("claims.json", "study.json", "rates.json")
        for path in REPOSITORY.glob(f"results/reference/*/{name}")
    ),
]

FORKED = """\
import gc, json, os, sys
import ict_core.config, snakemake.cli
snakemake.cli.get_argument_parser()  # imports the plugins
gc.disable(), gc.freeze()  # a child neither looks through nor copies what it does not use
for number, arguments in enumerate(json.loads(sys.argv[1])):
    if not os.fork():
        file = os.open(f"{number}.txt", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(file, 1), os.dup2(file, 2)
        snakemake.cli.main(arguments)
    os.wait()
"""


class Copy:
    """A copy of the repository in which its own library runs, or a copy of such a copy with all that has run there."""

    def __init__(self, folder: Path, other: Path | None = None) -> None:
        self.folder = folder
        if other is not None:
            shutil.copytree(other, folder, symlinks=True, dirs_exist_ok=True)
        for part in [] if other else PARTS:
            source = REPOSITORY / part
            if source.is_symlink():
                (folder / part).symlink_to(source.readlink())
            elif source.is_dir():
                half_written = shutil.ignore_patterns("*.pyc.*")  # bytecode of another of pytest's processes
                shutil.copytree(source, folder / part, symlinks=True, ignore=half_written)
            else:
                (folder / part).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, folder / part)

        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        foreign = ("VLLM_", "PYTEST_ADDOPTS")  # other tests', and this pytest's, as are its numerics
        inherited = {name: value for name, value in os.environ.items() if not name.startswith((*foreign, *PINS))}
        self.environment = inherited | {"PYTHONPATH": str(folder), "PATH": path}

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )

    def done(self, *command: str) -> str:
        """What a command prints that must succeed."""
        result = self.run(*command)
        assert result.returncode == 0, result.stdout[-5000:]
        return result.stdout

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run("snakemake", "--cores", "2", *arguments)

    def made(self, *arguments: str) -> str:
        """What a call of Snakemake prints that must succeed."""
        return self.done("snakemake", "--cores", "2", *arguments)

    def snakemakes(self, calls: Sequence[Sequence[str]]) -> list[str]:
        """What each of these calls of Snakemake prints, one after the other by processes that have its imports."""
        self.done("env", "HF_TOKEN=none", sys.executable, "-c", FORKED, json.dumps(calls))
        return [(self.folder / f"{number}.txt").read_text() for number in range(len(calls))]

    def planned(self, *arguments: str) -> list[tuple[str, str, str]]:
        """(rule, variant or "", reason) of every job that a dry run would start."""
        jobs = []
        for block in re.split(r"\n(?=(?:local)?rule \w+:)", self.made("--dry-run", *arguments))[1:]:
            variant = re.search(r"wildcards:.*variant=([\w@.-]+)", block)
            reason = re.search(r"reason: (.*)", block)
            jobs.append((re.match(r"(?:local)?rule (\w+):", block)[1], variant[1] if variant else "", reason[1]))
        return jobs

    def append(self, file: str, text: str = "\n# an edit\n") -> None:
        path = self.folder / file
        path.write_text(path.read_text() + text)


def jobs(dry_run: str) -> Counter[str]:
    """How many jobs of each rule the table of a dry run has; the figures' rules count as one."""
    table = re.search(r"^job +count\n-+ +-+\n(.*?)^total", dry_run, re.DOTALL | re.MULTILINE)
    counted: Counter[str] = Counter()
    for rule, count in re.findall(r"^(\w+) +(\d+)$", table[1] if table else "", re.MULTILINE):
        counted["figure" if rule.startswith("figure_") else rule] += int(count)
    return counted
