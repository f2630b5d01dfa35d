"""Streams are separate and fixed."""

import ast
import hashlib
from pathlib import Path

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

import ict_core
from ict_core.evaluation.engine import Completion, Engine, Sampling
from ict_core.evaluation.generate import generate
from ict_core.seeding import derive_seed, generator

LIBRARY = Path(ict_core.__file__).parent


def test_a_derived_seed_never_changes_between_versions():
    def by_hand(text: bytes) -> int:
        return int(hashlib.sha256(text).hexdigest()[:8], 16) // 2

    parts = b"1\x1fevaluation\x1fstr:mini-word\x1fstr:mini-word-0001\x1fint:3"
    assert derive_seed(0, "rollout", 0) == by_hand(b"0\x1frollout\x1fint:0") == 2077529663
    assert derive_seed(1, "evaluation", "mini-word", "mini-word-0001", 3) == by_hand(parts) == 549284895


@given(seed=st.integers(0, 2**31 - 1), index=st.integers(0, 10**6))
def test_purpose_seed_and_index_each_matter(seed, index):
    own = derive_seed(seed, "rollout", index)
    assert 0 <= own < 2**31
    assert len({own, derive_seed(seed, "selection", index), derive_seed(seed, "rollout", index + 1)}) == 3
    assert derive_seed(seed, "rollout", index) == own


def test_an_index_is_no_text_of_the_same_look():
    assert derive_seed(0, "x", 1) != derive_seed(0, "x", "1")


def test_generators_repeat():
    assert generator(1, "x").random() == generator(1, "x").random()


def drawn_for() -> list[tuple[str, str]]:
    """(file, purpose) of every stream that the library draws from."""
    found = []
    for file in sorted(set(LIBRARY.rglob("*.py")) - {LIBRARY / "seeding.py"}):
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and getattr(call.func, "id", None) in ("derive_seed", "generator"):
                if len(call.args) < 2:  # a generator that was handed over
                    continue
                assert isinstance(call.args[1], ast.Constant), f"{file}, line {call.lineno}: a purpose must be a word"
                found.append((file.relative_to(LIBRARY).as_posix(), call.args[1].value))
    return found


def test_no_two_modules_draw_from_one_stream():
    files: dict[str, set[str]] = {}
    for file, purpose in drawn_for():
        files.setdefault(purpose, set()).add(file)
    shared = {purpose: found for purpose, found in files.items() if len(found) > 1}
    # the problems' streams hang on the data's seed, are numpy's, and have a benchmark's name alone after the purpose
    corpus = "problems/mini/problems.py"
    assert shared == {
        "evaluation": {corpus, "evaluation/generate.py"},
        "training": {corpus, "training/run.py"},
    }
    assert {"data order", "rollout", "selection", "evaluation", "random reward"} <= set(files)


class Echo(Engine):
    """Answers with the prompt and the seed."""

    name = "echo"

    def stream(self, requests, sampling):
        yield from enumerate(
            Completion(f"{request.prompt} {request.seed}", (1,), 1, "stop", 0.0) for request in requests
        )

    def settings(self, sampling):
        return {}


ROWS = [(f"b{b}", f"p{b}{p}", f"{b} + {p} =") for b in range(3) for p in range(4)]
PROBLEMS = pd.DataFrame(ROWS, columns=["benchmark", "problem", "prompt"])


@settings(max_examples=10)
@given(
    seed=st.integers(0, 2**31 - 1),
    other=st.integers(0, 2**31 - 1),
    counts=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=3, max_size=3),
    kept=st.sets(st.sampled_from(["b0", "b1", "b2"]), min_size=1),
)
def test_samples_benchmarks_and_training_seed_leave_the_other_streams_alone(seed, other, counts, kept):
    few, more = ({f"b{b}": pair[i] for b, pair in enumerate(counts)} for i in (0, 1))
    sampling = Sampling(1.0, 1.0, 8, (0,))
    key = ["benchmark", "problem", "sample"]
    whole = generate(Echo(), PROBLEMS, few, seed, sampling)
    part = generate(Echo(), PROBLEMS[PROBLEMS["benchmark"].isin(kept)], more, seed, sampling)
    both = whole.merge(part, on=key)  # what either lacks changes nothing of what both have
    assert (both["text_x"] == both["text_y"]).all() and (both["seed_x"] == both["seed_y"]).all()
    assert len(both) == sum(4 * min(few[name], more[name]) for name in kept)
    assert whole["seed"].is_unique
    turned = generate(Echo(), PROBLEMS, few, other, sampling)
    pd.testing.assert_frame_equal(whole[key], turned[key])  # the same problems in the same order
    prompts = [frame["text"].str.rsplit(" ", n=1).str[0].tolist() for frame in (whole, turned)]
    assert prompts[0] == prompts[1] and (seed == other or not (whole["seed"] == turned["seed"]).any())
