"""Where the DAG itself becomes the bottleneck: seconds and memory of a dry run of the paper's grid with more seeds.

    python benchmarks/dag_at_scale.py --seeds 5 50 200

copies the workflow into a temporary folder, gives every block of `configs/studies/paper.yaml` that many seeds, and dry
runs it.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PARTS = ("workflow", "ict_core", "configs", "notebooks", "requirements")


def copy(folder: Path) -> None:
    """All that a dry run reads."""
    for part in PARTS:
        shutil.copytree(REPOSITORY / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("Snakefile", "environment.yml", "pyproject.toml"):
        shutil.copy2(REPOSITORY / part, folder / part)
    (folder / "profiles").symlink_to("workflow/profiles")


def with_seeds(folder: Path, seeds: int) -> None:
    """Write the paper's study with that many seeds in every block."""
    text = (REPOSITORY / "configs/studies/paper.yaml").read_text()
    study, blocks = re.subn(r"seeds: \[.*\]", f"seeds: {list(range(seeds))}", text)
    if not blocks:
        raise SystemExit("configs/studies/paper.yaml has no line `seeds: [...]`")
    (folder / "configs/studies/paper.yaml").write_text(study)


def dry_run(folder: Path) -> tuple[int, float, float]:
    """Jobs, wall seconds, and the largest memory of a dry run's process so far, GiB."""
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "2", "--configfile"]
    started = time.perf_counter()
    done = subprocess.run(
        [*command, "configs/studies/paper.yaml"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - started
    total = re.search(r"^total +(\d+)$", done.stdout + done.stderr, re.MULTILINE)
    if done.returncode or total is None:
        raise SystemExit((done.stdout + done.stderr)[-4000:])
    return int(total[1]), seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20


def main() -> None:
    """Dry run every number of seeds, fewest first, and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[5, 50, 200])
    options = parser.parse_args()
    print("| seeds | jobs | seconds | GiB |\n| --: | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        copy(folder)
        for seeds in sorted(options.seeds):
            with_seeds(folder, seeds)
            jobs, seconds, memory = dry_run(folder)
            print(f"| {seeds} | {jobs:,} | {seconds:.1f} | {memory:.2f} |", flush=True)


if __name__ == "__main__":
    main()
