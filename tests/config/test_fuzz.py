"""Damaged configurations: each mutant of a shipped file is accepted and plans, or is refused in clear lines, and soon.

`python tests/config/test_fuzz.py --mutants 500` counts, of so many mutants a file, how many are accepted and refused.
"""

import argparse
import copy
import functools
import os
import random
import re
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml

from ict_core.commands.tools import check
from ict_core.config.load import load_study
from ict_core.errors import UserError
from ict_core.evidence.claims import read_claims
from ict_core.jobs.command import AnyStudy
from ict_core.tables.paper import read_paper
from ict_core.tools.plan import planned_jobs

PROJECT = Path(__file__).parents[2]
FILES = sorted(file for file in (PROJECT / "configs").rglob("*.yaml") if file.parent.name != "accelerate")
KINDS = sorted({file.parent.name for file in FILES})
STAGES = ("train_data", "eval_data", "base", "tune", "train", "generate", "grade", "shadow", "read_tokens", "evidence")
QUICK, MOST_FILES = 10, 12  # mutants of a folder, at least two a file, and files, evenly apart; in CI more of both
SECONDS = 5  # of the processor, for a mutant
TOKENS = (
    *"""~ null true yes 0 1 -1 -0.0 010 0o17 0x10 1:30 1_000 1e5 5e-324 1e300 1e308 1e999 -1e999 .nan .inf 2147483648
    18446744073709551616 1000000000000000 3.0 0.5 '8' '' text [] {} [[]] [1,[2]] {a:1} [a,a] [0,0] [null] [1,x,1.5]
    ../../etc/passwd /etc/passwd ../configs a/../b . .. -rf $(id) "a\\0b" "a\\nb" "\\e[31m" "\\u202e" mini grpo base
    ict-10@0.001 é 漢字 😀 2001-01-01 {question} '{question}{options}' *a % @ ` | >-""".split(),  # noqa: SIM905 - shorter
    *("", "' '", "!!int x", "!!bool x", "!!timestamp x", "!!binary x", "!!set {a}"),
    "!!python/object/apply:os.getpid []",
    *("!x 1", "!!str 5", "&a [*a]", "&a 1", "{<<: {a: 1}}", "{? [1] : 2}", "{1: 2}", "{a: 1, a: 2}", "- 1", "a: 1"),
    *("\t", "9" * 400, "0x" + "f" * 99, "x" * 5000, "[" * 20_000, "{a: " * 20_000, f"[{'1, ' * 40_000}]"),
    *(f"[{', '.join(map(str, range(2000)))}]", f"[{', '.join(f'm{i}' for i in range(9000))}]"),
)


def mutant(content: bytes, draw: random.Random) -> bytes:
    """The bytes of a file, damaged in one to three places."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        content = draw.choices((_of_a_value, _of_lines, _of_the_file), (7, 2, 1))[0](content, draw)
    return content


def _nodes(node: yaml.Node) -> Iterator[yaml.Node]:
    yield node
    for inner in node.value if not isinstance(node, yaml.ScalarNode) else ():
        yield from (one for part in (inner if isinstance(inner, tuple) else [inner]) for one in _nodes(part))


def _of_a_value(content: bytes, draw: random.Random) -> bytes:
    """Another value, or another key, in the place of one."""
    try:
        text = content.decode()
        root = yaml.compose(text, Loader=yaml.CSafeLoader) if len(text) < 20_000 and "&" not in text else None
    except (ValueError, yaml.YAMLError):
        root = None
    if root is None:
        return _of_lines(content, draw)
    nodes = list(_nodes(root))
    numbers = [one for one in nodes if one.tag.endswith((":int", ":float"))]
    node = draw.choice(numbers if numbers and draw.random() < 0.5 else nodes)
    start, end = node.start_mark.index, node.end_mark.index
    token = draw.choice(TOKENS)
    with suppress(ValueError, OverflowError):
        number = float(text[start:end])
        others = (number + 1, number - 1, -number, number * 2, number / 3, number * 10.0 ** draw.randint(-9, 15))
        token = draw.choice([token, *(f"{one:.12g}" if draw.random() < 0.5 else str(int(one)) for one in others)])
    gap = "\n" if text[start:end].endswith("\n") else ""
    return f"{text[:start]}{token}{gap}{text[end:]}".encode()


def _of_lines(content: bytes, draw: random.Random) -> bytes:
    """A line away, twice, elsewhere, indented; or one more."""
    lines = content.splitlines(keepends=True) or [b""]
    at, to = draw.randrange(len(lines)), draw.randrange(len(lines))
    more = [b"a: 1\n", b"  b: 2\n", b"---\n", b"...\n", b"%YAML 1.1\n---\n", b"\t- 1\n", b"<<: *a\n"]
    more.append(b"a: " + b"[" * 20_000)
    made = {
        "away": lines[:at] + lines[at + 1 :],
        "twice": lines[: at + 1] + lines[at:],
        "elsewhere": [*lines[:to], lines[at], *lines[to:]],
        "indented": [*lines[:at], b" " * draw.randint(1, 4) + lines[at], *lines[at + 1 :]],
        "one more": [*lines[:at], draw.choice(more), *lines[at:]],
        "many": [*lines, *(b"k%d: 1\n" % i for i in range(5000))],
    }
    return b"".join(made[draw.choice(list(made))])


def _of_the_file(content: bytes, draw: random.Random) -> bytes:
    """Another encoding, a part of it, other bytes, or too many."""
    text, at = content.decode(errors="replace"), draw.randrange(len(content) + 1)
    codec = draw.choice(("utf-16", "utf-32", "utf-8-sig", "utf-7", "utf-16-be"))
    flipped = bytearray(content)
    for _ in range(draw.randint(1, 8) if content else 0):
        flipped[draw.randrange(len(content))] = draw.randrange(256)
    laughs = b"a: &a [x, x]\n" + b"".join(b"b%d: &b%d [*a, *a]\n" % (i, i) for i in range(30))
    made = [text.encode(codec), content[:at], bytes(flipped), content.replace(b"\n", b"\r\n"), b"", b"\0" * 100]
    made += [laughs + content, content + b"# \xe9", content + b"#" * 200_000, content + b"- " * 20_000]
    return draw.choice(made)


@functools.cache
def _studies() -> list[Any]:
    files = sorted((PROJECT / "configs/studies").glob("*.yaml"))
    return [yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader) for file in files]


def probe(file: Path) -> dict[str, Any] | None:
    """The least study that names a file, made of a shipped one; None of a file that no study names."""
    kind, name = file.parent.name, file.stem
    for study in map(copy.deepcopy, _studies()):
        for block in study["grid"]:
            named = {**block, **study, "training": [study["training"]], "data": study["data"].get("train_sets", [])}
            if name not in named.get(kind, []):
                continue
            recorded = ("token_study", "learning_curve", "rollouts_mib")
            for key in ("tuning", "rates_of", "shown", "beside", "job_hours", *recorded):
                study.pop(key, None)
            for key in ("validity", "primary"):
                study["evidence"].pop(key, None)
            study["evaluation"].pop("samples_of", None)
            base, method = study["baselines"][0], name if kind == "methods" else block["methods"][0]
            model = name if kind == "models" else block["models"][0]
            stated = yaml.safe_load((PROJECT / f"configs/methods/{method}.yaml").read_text())
            rule = [stated["of"]] if "control" in stated else []  # a control stands beside its rule
            grid = [{"models": [model], "methods": list(dict.fromkeys([base, *rule, method])), "seeds": [0]}]
            benchmarks = [name if kind == "benchmarks" else study["benchmarks"][0]]
            return study | {"study": "probe", "grid": grid, "baselines": [base], "benchmarks": benchmarks}
    return None


def plans(file: Path) -> None:
    """What the workflow asks of a study when it is read."""
    study = load_study(file)
    assert study.evaluated_cells() and study.all_bases() and study.arms() is not None
    cells = study.cells()
    for cell in {*cells[:3], *cells[-3:], *study.later_cells()[:3], *study.later_cells()[-3:]}:
        for stage in STAGES:
            study.stage_config(stage, cell if stage == "train" else study.base_of(cell))


def reader(file: Path, folder: Path) -> Callable[[], None]:
    """What reads a file in a folder as the commands do, and all that it needs there."""
    if file.parent.name == "configs":
        read = {"claims": read_claims, "paper": read_paper}[file.stem]
        return lambda: read(folder / "configs" / file.name) and None
    study = folder / "configs/studies" / ("probe.yaml" if file.parent.name != "studies" else file.name)
    if study.stem == "probe":
        study.write_text(yaml.safe_dump(probe(file)))

    def read_study() -> None:
        with redirect_stdout(StringIO()):
            check(AnyStudy(study), files=True)
        plans(study)

    return read_study


def outcome(read: Callable[[], None]) -> tuple[str, float]:
    """Whether a file is accepted, refused, or faulty (then what is wrong), and the processor's seconds."""
    began = time.process_time()
    try:
        read()
        told = "accepted"
    except UserError as error:
        lines = str(error).splitlines()
        clear = re.compile(r"configs/\S+\.yaml: .*allowed: .")
        unclear = [line for line in lines if not (clear.match(line) and line.isprintable() and len(line) <= 3000)]
        told = f"unclear: {unclear[0][:300]!r}" if unclear or not lines else "refused"
    except Exception:
        told = traceback.format_exc(limit=-4)
    took = time.process_time() - began
    return (f"{told} after {took:.1f} s" if took > SECONDS else told), took


def fuzz(file: Path, folder: Path, mutants: int, seed: int = 0) -> Iterator[tuple[str, float]]:
    """The outcomes of so many mutants of a file, in a folder that has a copy of the configurations."""
    own = folder / file.relative_to(PROJECT)
    content = file.read_bytes()
    read = reader(file, folder)
    assert outcome(read)[0] == "accepted", "the file itself"
    for index in range(mutants):
        own.write_bytes(mutant(content, random.Random(f"{seed} {own.name} {index}")))
        told, took = outcome(read)
        yield (told if told in ("accepted", "refused") else f"{file.name}, seed {seed}, mutant {index}: {told}"), took
    own.write_bytes(content)


def prepared(folder: Path) -> Path:
    """A folder with the configurations and the stored results that they name."""
    shutil.copytree(PROJECT / "configs", folder / "configs")
    (folder / "results").symlink_to(PROJECT / "results")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_accepted_and_plans_or_is_refused_in_clear_lines(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(prepared(tmp_path))
    files = [file for file in FILES if file.parent.name == kind]
    mutants = int(os.environ.get("MUTANTS", 0))
    files = files if mutants else files[:: -(-len(files) // MOST_FILES)]
    mutants = mutants or max(2, QUICK // len(files))
    told = Counter(told for file in files for told, _ in fuzz(file, Path(), mutants))
    assert told["refused"] and told.keys() <= {"accepted", "refused"}  # each file itself is accepted


def main() -> int:
    """Count outcomes; status 1 where one is neither accepted nor refused as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=20, help="of each file; default: %(default)s")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plan", type=int, default=0, help="accepted studies whose dry run is tried too")
    options = parser.parse_args()
    outcomes, slowest, planned = Counter[str](), 0.0, 0
    with tempfile.TemporaryDirectory() as folder, chdir(prepared(Path(folder))):
        for file in FILES:
            for told, took in fuzz(file, Path(), options.mutants, options.seed):
                if told == "accepted" and file.parent.name == "studies" and planned < options.plan:
                    planned += 1  # the mutant still lies there
                    planned_jobs(file.relative_to(PROJECT), PROJECT, 1)
                outcomes[told] += 1
                slowest = max(slowest, took)
    faults = outcomes.keys() - {"accepted", "refused"}
    print(*sorted(faults), sep="\n")
    counts = ", ".join(f"{outcomes[told]} {told}" for told in ("accepted", "refused"))
    print(f"{outcomes.total()} mutants of {len(FILES)} files: {counts}, {len(faults)} faults")
    print(f"the slowest took {slowest:.2f} s; {planned} accepted studies were planned by Snakemake")
    return bool(faults)


if __name__ == "__main__":
    raise SystemExit(main())
