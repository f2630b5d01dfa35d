"""How many answers a second all cores grade, beside math-verify in one process.

    python benchmarks/grading_cores.py
    python benchmarks/grading_cores.py --quick      # 30 answers, one round

Answers that need math-verify, no two alike. *Serial* parses answer and gold and verifies, with the settings of
`ict_core/grading/_math.py`, in this process; the *pool* has a worker a core. They take turns. The first ratio is the
pool's rate over cores x the serial rate, its workers running already; the last one counts their start. *Processes* are
as many bare ones as there are cores, each with a share of the answers: what the machine can give, as hyper-threads are
no cores and other work may run.
"""

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial

import report
from grading_speed import KINDS
from math_verify import LatexExtractionConfig, parse, verify

from ict_core.grading import GradingPool, Item, load_math_verify

_TARGET = LatexExtractionConfig(boxed_match_priority=0, try_extract_without_anchor=False)


def answers(start: int, number: int) -> list[Item]:
    """So many items from the `start`-th on, the kinds in turn."""
    kinds = [make for kind, make in KINDS.items() if "settled" not in kind]
    made = [kinds[i % len(kinds)](i) for i in range(start, start + number)]
    return [(f"\\boxed{{{answer}}}", gold, of) for answer, gold, of in made]


def serial(items: Sequence[Item]) -> list[bool]:
    """Bare math-verify."""

    def read(text: str) -> list[object]:
        return parse(text, [_TARGET], parsing_timeout=None, raise_on_error=True)

    return [
        verify(read(f"\\boxed{{{gold}}}"), read(text), timeout_seconds=None, raise_on_error=True)
        for text, gold, _ in items
    ]


def processes(items: Sequence[Item], cores: int) -> None:
    """Bare math-verify, a process a core."""
    fork = multiprocessing.get_context("fork")
    jobs = [fork.Process(target=serial, args=(items[core::cores],)) for core in range(cores)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()


def rate(call: Callable[[], object], number: int) -> float:
    """Answers a second."""
    started = time.perf_counter()
    call()
    return number / (time.perf_counter() - started)


def main() -> None:
    """Take turns and append a line to the results."""
    parser = report.parser(__doc__)
    parser.add_argument("--answers", type=int, default=1500, help="of each turn (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="(default: %(default)s)")
    options = report.parse(parser, answers=30, rounds=1)
    cores = len(os.sched_getaffinity(0))
    limits = {"seconds": 5, "memory_mib": 1024}
    load_math_verify()
    rates: dict[str, list[float]] = {"serial": [], "pool": [], "start": [], "processes": []}
    with GradingPool(workers=cores, **limits) as pool:
        pool.grade(answers(10**6, min(64, options.answers) * cores))  # starts the workers
        for turn in range(options.rounds):
            items = answers(turn * options.answers, options.answers)  # new ones: math-verify remembers what it parsed
            rates["processes"].append(rate(partial(processes, items, cores), len(items)))
            rates["serial"].append(rate(partial(serial, items), len(items)))
            rates["pool"].append(rate(partial(pool.grade, items), len(items)))
            with GradingPool(workers=cores, **limits) as fresh:
                rates["start"].append(rate(partial(fresh.grade, items), len(items)))
        found = [verdict.status == "correct" for verdict in pool.grade(items[:100])]
        assert found == serial(items[:100])
    share = {
        name: statistics.median(found / (cores * one) for found, one in zip(rates[name], rates["serial"], strict=True))
        for name in ("pool", "start", "processes")
    }
    row = {
        "cores": f"{cores}",
        "answers": f"{options.answers:,}",
        "serial, a second": f"{statistics.median(rates['serial']):,.0f}",
        "processes, a second": f"{statistics.median(rates['processes']):,.0f}",
        "pool, a second": f"{statistics.median(rates['pool']):,.0f}",
        "pool / (cores x serial)": f"{share['pool']:.2f}",
        "processes / (cores x serial)": f"{share['processes']:.2f}",
        "pool, start counted": f"{share['start']:.2f}",
    }
    report.append([row], quick=options.quick)


if __name__ == "__main__":
    main()
