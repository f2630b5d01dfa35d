"""What Snakemake would run, as it says itself."""

import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from ict_core.errors import UserError

_OLD_AND_NEW = re.compile(r"(?<=Params have changed since last execution): .*?(?=; Software environment|$)")
"""The values that Snakemake tells of changed parameters, which may hold whatever separates its reasons."""


@dataclass
class RuleRuns:
    """The jobs of one rule in the whole study, those that would run now, and how many of these for which reason."""

    jobs: int = 0
    runs: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


def rule_runs(study: Path, repository: Path) -> dict[str, RuleRuns]:
    """Every rule's jobs of a study's file in the folder of the Snakefile; the figures' rules count as one.

    Raises:
        UserError: the dry run fails; with Snakemake's last lines.
    """
    rules: defaultdict[str, RuleRuns] = defaultdict(RuleRuns)
    for rule, _ in parse(_dry_run(study, repository, "--forceall")):
        rules[rule].jobs += 1
    for rule, reasons in parse(_dry_run(study, repository)):
        rules[rule].runs += 1
        rules[rule].reasons.update(reasons)
    return dict(rules)


def _dry_run(study: Path, repository: Path, *options: str) -> str:
    """What a dry run of the study prints."""
    if not (repository / "Snakefile").is_file():
        raise UserError(
            f"{repository / 'Snakefile'}: no such file, so Snakemake cannot be asked what would run; "
            "move the study into the repository's configs/studies, or give --no-dag"
        )
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1", "--nocolor", *options]
    done = subprocess.run(
        [*command, "--configfile", str(study.resolve())],
        cwd=repository,
        env=os.environ | {"PYTHONHASHSEED": "0"},  # the order in which it prints jobs
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        last_lines = " ".join(done.stdout.split("\n")[-12:]).strip()
        raise UserError(f"the dry run fails: {last_lines}; the option --no-dag plans without it")
    return done.stdout


def parse(printed: str) -> list[tuple[str, list[str]]]:
    """(rule, reasons without the files that they name) of every job that a dry run prints."""
    jobs = []
    for block in re.split(r"\n(?=(?:local)?(?:rule|checkpoint) \w+:\n)", printed)[1:]:
        name = re.match(r"\w+ (\w+):", block)
        reason = re.search(r"^    reason: (.*)$", block, re.MULTILINE)
        assert name is not None  # a block begins with its rule
        parts = _OLD_AND_NEW.sub("", reason[1]).split("; ") if reason else []
        rule = re.sub(r"^figure_\w+", "figures", name[1])
        jobs.append((rule, [part.partition(":")[0] for part in parts]))
    return jobs
