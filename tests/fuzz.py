"""The hypothesis tests of hostile input for as long as one likes, with new random examples each time.

    python tests/fuzz.py --minutes 5      (make fuzz MINUTES=5)

Prints how many examples of what ran, how they ended, and what was found: each failure with its shrunk example.
"""

import argparse
import os
import random
import resource
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hostile_files import CONFIGS, FILE_AND_CONTENT, try_file
from hostile_texts import ITEMS, SPACES, grade_hostile
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from ict_core.grading import GradingPool

_SETTINGS = settings(
    max_examples=50,  # between two looks at the clock
    deadline=None,
    database=None,
    derandomize=False,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)


def configurations(ends: Counter, folder: Path) -> Callable[..., None]:
    """Spoiled configuration files through their loaders."""
    shutil.copytree(CONFIGS, folder / "configs")
    os.chdir(folder)

    def example(spoiled: tuple[str, bytes]) -> None:
        refused = try_file(folder / "configs", *spoiled)
        ends[f"{spoiled[0]}: {'refused' if refused else 'read'}"] += 1

    return example


def answers(ends: Counter, pool: GradingPool) -> Callable[..., None]:
    """Hostile texts through the grading pool."""

    def example(item: tuple[str, str, str], before: str, after: str) -> None:
        ends[f"{item[2]}: {grade_hostile(pool, item, before, after)}"] += 1

    return example


def run(example: Callable[..., None], drawn: tuple[SearchStrategy, ...], minutes: float, number: int) -> list[str]:
    """Run rounds of examples until the time is over or three failures were found."""
    found: list[str] = []
    ending = time.monotonic() + 60 * minutes
    while time.monotonic() < ending and len(found) < 3:
        try:
            seed(number)(_SETTINGS(given(*drawn)(example)))()
        except Exception:
            found.append(traceback.format_exc(limit=-3))
        number += 1
    return found


def main() -> int:
    """Fuzz both in turn; status 1 where anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5, help="of both together (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="of the first round (default: a random one)")
    options = parser.parse_args()
    first = random.randrange(2**32) if options.seed is None else options.seed
    print(f"seed {first}, {options.minutes:g} minutes", flush=True)
    failures = []
    with tempfile.TemporaryDirectory() as folder, GradingPool(workers=1, seconds=0.5, memory_mib=512) as pool:
        targets = {
            "configuration files": (configurations, Path(folder), (FILE_AND_CONTENT,)),
            "answers": (answers, pool, (ITEMS, SPACES, SPACES)),
        }
        for name, (target, argument, drawn) in targets.items():
            ends: Counter[str] = Counter()
            found = run(target(ends, argument), drawn, options.minutes / len(targets), first)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"{name}: {ends.total()} examples, {len(found)} failures, peak memory of this process {peak} MiB")
            print(*(f"  {end}: {times}" for end, times in sorted(ends.items())), sep="\n", flush=True)
            failures += found
        os.chdir("/")
    print(*failures, sep="\n")
    return bool(failures)


if __name__ == "__main__":
    raise SystemExit(main())
