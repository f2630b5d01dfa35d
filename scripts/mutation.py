"""Measures how many mutants the tests catch: `make mutation`, by mutmut.

Draws mutants of the rules, the statistics, the graders and the token statistics with a fixed seed, runs the tests that
reach each mutant, and prints how many were caught and which survived. Outcomes in `mutants/` are not tried again.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import mutmut
import yaml
from mutmut.stats import status_by_exit_code

from ict_core.markdown import markdown_table
from ict_core.seeding import generator

MADE = Path("mutants")
IN_PROCESSES = MADE / "in_processes.json"  # exit status of the tests, for code that only runs in processes they start
MUTMUT = [sys.executable, "-m", "mutmut"]
FATES = {"killed": "caught", "timeout": "time out", "segfault": "caught", "no tests": "no test",
         "not checked": "not tried"}  # fmt: skip
EQUIVALENT = yaml.safe_load(Path(__file__).with_name("equivalent_mutants.yaml").read_text(encoding="utf-8"))


def outcomes() -> dict[str, int | None]:
    """The exit status of the tests for every mutant, None where they have not run."""
    metas = [json.loads(file.read_text()) for file in sorted(MADE.rglob("*.meta"))]
    return {name: status for meta in metas for name, status in meta["exit_code_by_key"].items()}


def in_processes(name: str) -> int:
    """The exit status of all tests of a mutant's package, in which the processes that they start run the mutant too.

    mutmut does not see tests that reach code in a process that it has not started, such as a grading worker.
    """
    package = name.split(".")[1]
    if _status_of_tests(package, mutant=""):
        raise SystemExit(f"tests/{package} fail without a mutant; a red test catches none")
    return _status_of_tests(package, name)


def _status_of_tests(package: str, mutant: str) -> int:
    statuses = json.loads(IN_PROCESSES.read_text()) if IN_PROCESSES.exists() else {}
    key = mutant or package
    if key not in statuses:
        paths = [MADE.resolve(), Path(mutmut.__file__).resolve().parents[1]]
        environment = os.environ | {"MUTANT_UNDER_TEST": mutant, "PYTHONPATH": os.pathsep.join(map(str, paths))}
        tests = ["-m", "pytest", "-q", "-x", "-p", "no:xdist", "-m", "not long", f"tests/{package}"]
        statuses[key] = subprocess.run([sys.executable, *tests], cwd=MADE, env=environment).returncode
        if mutant or not statuses[key]:  # failing tests without a mutant are run again
            IN_PROCESSES.write_text(json.dumps(statuses))
    return int(statuses[key])


def equivalent(name: str) -> bool:
    """Whether :data:`EQUIVALENT`, the mutants that change no result, has the mutant's function and changed line."""
    module, _, function = name.rpartition("__mutmut_")[0].rpartition(".")
    inside = f"{module}.{function.removeprefix('xǁ').removeprefix('x_').replace('ǁ', '.')}"
    lines = {mutant["line"] for mutant in EQUIVALENT if mutant["in"] == inside}
    if not lines:
        return False
    diff = subprocess.run([*MUTMUT, "show", name], capture_output=True, text=True, check=True).stdout
    return any(line.strip() in lines for line in re.findall(r"^\+(?!\+\+)(.*)", diff, re.MULTILINE))


def main() -> None:
    """Try the mutants that have no outcome yet, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=400, help="how many mutants (default: 400)")
    parser.add_argument("--at-once", default="2", help="processes (default: 2)")
    options = parser.parse_args()
    run = [*MUTMUT, "run", "--max-children", options.at_once]
    if not outcomes():  # makes all mutants and records which tests reach which function
        subprocess.run([*run, "ict_core.selection.grpo*"], check=False)
    before = outcomes()
    # each mutant has its own random number, so an edit changes the draw only for the functions that it touches
    drawn = sorted(before, key=lambda name: generator(0, "mutation", name).random())[: options.number]
    if untried := [name for name in drawn if before[name] is None]:
        subprocess.run([*run, *untried], check=False)
    after = outcomes()
    fates = {name: FATES.get(status_by_exit_code[after[name]], "survived") for name in drawn}
    fates |= {name: "survived" if in_processes(name) == 0 else "caught" for name in drawn if fates[name] == "no test"}
    fates |= {name: "equivalent" for name in drawn if fates[name] == "survived" and equivalent(name)}
    packages = sorted({name.split(".")[1] for name in drawn})
    kinds = ["caught", "time out", "survived", "equivalent", "not tried"]
    rows = []
    for package in [*packages, "all"]:
        counted = Counter(fate for name, fate in fates.items() if package in (name.split(".")[1], "all"))
        tried = counted.total() - counted["not tried"] - counted["equivalent"]
        score = 100 * (counted["caught"] + counted["time out"]) / (tried or 1)
        rows.append([package, str(counted.total()), *(str(counted[kind]) for kind in kinds), f"{score:.1f} %"])
    print(markdown_table(["package", "mutants", *kinds, "score"], rows, "lrrrrrrr"))
    print(*(name for name, fate in sorted(fates.items()) if fate == "survived"), sep="\n")


if __name__ == "__main__":
    main()
