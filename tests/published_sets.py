"""The project's published sets, where their real rows may be, and made-up rows for all else."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from ict_core.config.inputs import Benchmark, PublishedSet, TrainingSet
from ict_core.config.section import load_section

REPOSITORY = Path(__file__).resolve().parents[1]
MIRROR = REPOSITORY.parent / "shared/benchmarks/mirror"
real_rows = pytest.mark.skipif(not MIRROR.is_dir(), reason=f"the real rows are not at {MIRROR}")


def _read(folder: str, schema: Any) -> dict[str, PublishedSet]:
    sets = {file.stem: load_section(file, schema) for file in sorted((REPOSITORY / "configs" / folder).glob("*.yaml"))}
    return {name: one for name, one in sets.items() if isinstance(one, PublishedSet)}


SETS = _read("benchmarks", Benchmark) | _read("data", TrainingSet)
OPEN = [name for name, published in SETS.items() if not published.gated]


def rows(pattern: str) -> list[dict]:
    """The real rows of the files of a pattern, such as ``openai/gsm8k/main/test.jsonl``, in order of the files."""
    lines = [line for file in sorted(MIRROR.glob(pattern)) for line in file.read_text("utf-8").splitlines()]
    return [json.loads(line) for line in lines]


def write_rows(mirror: Path, place: str, rows: list[dict]) -> None:
    """Rows as a file of a mirror, `OWNER/NAME/CONFIG/SPLIT`."""
    file = mirror / f"{place}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def gpqa_row(number: int) -> dict:
    """A record of GPQA's form, made up."""
    wrong = {f"Incorrect Answer {i}": f"wrong {i} of {number}" for i in (1, 2, 3)}
    made = {"Record ID": f"rec{number:04d}", "Question": f" What is {number}?\n", "Correct Answer": f"right {number}\n"}
    return {**made, **wrong, "Explanation": "none"}


def stated(name: str, items: list, **changes: object) -> PublishedSet:
    """A set of the project's whose file would state just these items."""
    lines = [json.dumps(item, ensure_ascii=False, separators=(",", ":")) + "\n" for item in sorted(items)]
    sha256 = hashlib.sha256("".join(lines).encode()).hexdigest()
    return SETS[name].model_copy(update={"rows": len(items), "sha256": sha256, **changes})
