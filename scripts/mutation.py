"""How many faults the tests find: `make mutation`, by mutmut.

Draws mutants of the rules, the statistics, the graders and the token statistics with a fixed seed, runs the tests that
reach each, and prints how many were caught and which were not. What is in `mutants/` already is not tried again.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from mutmut.stats import status_by_exit_code

from ict_core.markdown import markdown_table
from ict_core.seeding import generator

MADE = Path("mutants")
MUTMUT = [sys.executable, "-m", "mutmut", "run", "--max-children"]
FATES = {"killed": "caught", "timeout": "time out", "segfault": "caught", "no tests": "no test",
         "not checked": "not tried"}  # fmt: skip


def outcomes() -> dict[str, int | None]:
    """The exit status of the tests of every mutant, None where they have not run."""
    metas = [json.loads(file.read_text()) for file in sorted(MADE.rglob("*.meta"))]
    return {name: status for meta in metas for name, status in meta["exit_code_by_key"].items()}


def main() -> None:
    """Try the mutants that are left, and say what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=400, help="how many mutants (default: 400)")
    parser.add_argument("--at-once", default="2", help="processes (default: 2)")
    options = parser.parse_args()
    if not outcomes():  # makes all mutants, and learns which tests reach which function
        subprocess.run([*MUTMUT, options.at_once, "ict_core.selection.grpo*"], check=False)
    before = outcomes()
    names = sorted(before)
    drawn = [names[i] for i in generator(0, "mutation").permutation(len(names))[: options.number]]
    if left := [name for name in drawn if before[name] is None]:
        subprocess.run([*MUTMUT, options.at_once, *left], check=False)
    after = outcomes()
    found = {name: FATES.get(status_by_exit_code[after[name]], "survived") for name in drawn}
    packages = sorted({name.split(".")[1] for name in drawn})
    kinds = ["caught", "time out", "survived", "no test", "not tried"]
    rows = []
    for package in [*packages, "all"]:
        counted = Counter(fate for name, fate in found.items() if package in (name.split(".")[1], "all"))
        score = 100 * (counted["caught"] + counted["time out"]) / (counted.total() - counted["not tried"] or 1)
        rows.append([package, str(counted.total()), *(str(counted[kind]) for kind in kinds), f"{score:.1f} %"])
    print(markdown_table(["package", "mutants", *kinds, "score"], rows, "lrrrrrrr"))
    print(*(name for name, fate in sorted(found.items()) if fate in ("survived", "no test")), sep="\n")


if __name__ == "__main__":
    main()
