"""The real rows beside the checkout, for tests; a test that needs them is skipped where they are absent."""

import json
from pathlib import Path

import pytest

MIRROR = Path(__file__).parents[3] / "shared" / "benchmarks" / "mirror"


def rows(path):
    """The rows of one file of the mirror, such as ``openai/gsm8k/main/test.jsonl``."""
    if not (MIRROR / path).exists():
        pytest.skip(f"the benchmark mirror is not beside the checkout: no {MIRROR / path}")
    return [json.loads(line) for line in (MIRROR / path).read_text(encoding="utf-8").splitlines()]


def math_train():
    """The rows of all seven configurations of MATH's training part."""
    paths = sorted((MIRROR / "EleutherAI" / "hendrycks_math").glob("*/train.jsonl"))
    if len(paths) != 7:
        pytest.skip(f"the benchmark mirror is not beside the checkout: no {MIRROR / 'EleutherAI' / 'hendrycks_math'}")
    return [row for path in paths for row in rows(path.relative_to(MIRROR))]
