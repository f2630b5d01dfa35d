"""The hypothesis test of hostile answers for as long as one likes, with new random examples each time.

    python tests/fuzz.py --minutes 5      (make fuzz MINUTES=5)

Prints how many answers were graded, how they ended, and what was found: each failure with its shrunk example.
"""

import argparse
import random
import resource
import time
import traceback
from collections import Counter

from hostile_texts import ITEMS, SPACES, grade_hostile
from hypothesis import HealthCheck, Phase, given, seed, settings

from ict_core.grading.pool import GradingPool

_SETTINGS = settings(
    max_examples=50,  # between two looks at the clock
    deadline=None,
    database=None,
    derandomize=False,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)


def run(pool: GradingPool, minutes: float, number: int, ends: Counter[str]) -> list[str]:
    """Rounds of hostile texts through the pool until the time is over or three failures were found."""

    @_SETTINGS
    @given(ITEMS, SPACES, SPACES)
    def answers(item: tuple[str, str, str], before: str, after: str) -> None:
        ends[f"{item[2]}: {grade_hostile(pool, item, before, after)}"] += 1

    found: list[str] = []
    ending = time.monotonic() + 60 * minutes
    while time.monotonic() < ending and len(found) < 3:
        try:
            seed(number)(answers)()
        except Exception:
            found.append(traceback.format_exc(limit=-3))
        number += 1
    return found


def main() -> int:
    """Fuzz the grader; status 1 where anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5, help="default: %(default)s")
    parser.add_argument("--seed", type=int, help="of the first round (default: a random one)")
    options = parser.parse_args()
    first = random.randrange(2**32) if options.seed is None else options.seed
    print(f"seed {first}, {options.minutes:g} minutes", flush=True)
    ends: Counter[str] = Counter()
    with GradingPool(workers=1, seconds=0.5, memory_mib=512) as pool:
        failures = run(pool, options.minutes, first, ends)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"answers: {ends.total()} examples, {len(failures)} failures, peak memory of this process {peak} MiB")
    print(*(f"  {end}: {times}" for end, times in sorted(ends.items())), sep="\n", flush=True)
    print(*failures, sep="\n")
    return bool(failures)


if __name__ == "__main__":
    raise SystemExit(main())
