"""How many answers per second the grading pool grades, by kind of answer.

    python benchmarks/grading_speed.py
    python benchmarks/grading_speed.py --quick      # 10 answers of each kind

The answers are synthetic and all different, as equal answers to one problem are graded once. `settled` answers need no
algebra and are graded in the calling process. The others go to one worker, which has already started.
"""

import time
from collections.abc import Callable

import report

from ict_core.grading.answers import Item
from ict_core.grading.pool import GradingPool

_TALK = "We look at the problem step by step. " * 40  # some 1,500 characters before the answer
KINDS: dict[str, Callable[[int], tuple[str, str, str]]] = {  # answer, gold, type
    "number, right (settled)": lambda i: (f"{i}", f"{i}", "number"),
    "LaTeX, gold's own text (settled)": lambda i: (rf"\sqrt{{{i}}}", rf"\sqrt{{{i}}}", "latex"),
    "LaTeX, no answer (settled)": lambda i: (f"{i}", rf"\sqrt{{{i}}}", "latex"),
    "LaTeX, equal fraction": lambda i: (
        rf"\frac{{{2 * i + 2}}}{{{2 * i + 4}}}",
        rf"\frac{{{i + 1}}}{{{i + 2}}}",
        "latex",
    ),
    "LaTeX, other polynomial": lambda i: (f"x^2+{i}x+1", f"x^2+{i}x+2", "latex"),
    "LaTeX, equal root": lambda i: (rf"2\sqrt{{{i + 2}}}", rf"\sqrt{{{4 * i + 8}}}", "latex"),
}


def items(kind: str, number: int) -> list[Item]:
    """(text, gold answer, answer type) for `number` answers of a kind."""
    made = [KINDS[kind](i) for i in range(number)]
    boxed = "no answer" not in kind
    return [(f"{_TALK}\\boxed{{{answer}}}" if boxed else _TALK + answer, gold, type_) for answer, gold, type_ in made]


def main() -> None:
    """Grade every kind, and print and store the answers per second."""
    parser = report.parser(__doc__)
    parser.add_argument("--answers", type=int, default=1000, help="of each kind")
    options = report.parse(parser, answers=10)
    rows = []
    with GradingPool(workers=1, seconds=5, memory_mib=1024) as pool:
        pool.grade([("\\boxed{x+1}", "1+x", "latex")])  # starts the worker
        for kind in KINDS:
            made = items(kind, options.answers)
            started = time.perf_counter()
            verdicts = pool.grade(made)
            seconds = time.perf_counter() - started
            right = sum(verdict.status == "correct" for verdict in verdicts) / len(verdicts)
            row = {"answers": kind, "right": f"{right:.0%}", "a second": f"{len(made) / seconds:,.0f}"}
            rows.append(row | {"milliseconds each": f"{1000 * seconds / len(made):.2f}"})
    report.append(rows, quick=options.quick)


if __name__ == "__main__":
    main()
