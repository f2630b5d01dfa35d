"""The three recipes of docs/recipes.md, followed to the letter in a copy of the repository."""

import math
import re
import shutil
from collections import Counter

import pytest
from recipes import follow, steps
from repository_copy import REPOSITORY, Copy, jobs

from ict_core.config.load import load_model, load_study
from ict_core.grading.grade import grade_completions
from ict_core.problems.mini.problems import evaluation_problems, training_problems
from ict_core.problems.mini.tokenizer import train_tokenizer
from ict_core.store import records
from ict_core.store.files import hash_file, hash_weights
from ict_core.store.manifests import file_hashes, read_manifest, write_manifest
from ict_core.training.pretrain import build_model, save_checkpoint

pytestmark = pytest.mark.long

NEARLY_EVEN = 0.0028  # an untrained model gives each of its 352 tokens about 1 / 352


@pytest.fixture
def copy(tmp_path) -> Copy:
    """With its tests, pages and scripts, as a reader has them."""
    copy = Copy(tmp_path)
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    for folder in ("tests", "docs", "scripts"):
        shutil.copytree(REPOSITORY / folder, copy.folder / folder, ignore=ignored)
    shutil.copy2(REPOSITORY / "Makefile", copy.folder)  # tests of the pages look commands up
    return copy


PAGES = "tests/test_docs.py -k every_variant", "tests/test_site.py -k reference"


def test_add_a_method(copy, tiny_checkpoint):
    checks = ("ruff check ict_core tests", "ruff format --check ict_core tests")
    done = follow(copy, *steps("Add a method"), *checks, *(f"pytest -q {tests}" for tests in PAGES))
    assert "try-method: 6 cells to train" in done.stdout
    methods = 2 + len(load_study(REPOSITORY / "configs/studies/rules-rates.yaml").grid[0].methods)
    assert f"rules-rates: {methods * 5} cells to train, {methods * 4} of them to choose" in done.stdout
    assert re.search(r"^\d+ passed in", done.stdout, re.MULTILINE), done.stdout
    assert jobs(done.stdout)["train"] == 6

    records.write_frame(training_problems(0, 40, set()), copy.folder / "train.parquet", records.PROBLEMS)
    sizes = dict.fromkeys(load_study(REPOSITORY / "configs/studies/smoke.yaml").benchmarks, ("word", 6))
    records.write_frame(evaluation_problems(0, sizes), copy.folder / "held_out.parquet", records.PROBLEMS)
    variant = copy.folder / "configs/methods/improbable-50.yaml"
    variant.write_text(variant.read_text().replace("0.5", str(NEARLY_EVEN)))
    base = shutil.copytree(tiny_checkpoint, copy.folder / "base")
    write_manifest(base / "manifest.json", {"files": file_hashes(base), "model_sha256": hash_weights(base)})
    cell = "--model mini-xs --variant improbable-50 --seed 0 --base base --out out"
    problems = "--problems train.parquet --held-out held_out.parquet"
    follow(copy, f"ict train --study configs/studies/try-method.yaml {cell} {problems}")
    tokens = records.read_frame(copy.folder / "out/tokens.parquet", records.TOKENS)
    assert set(tokens["step"]) == set(range(6))
    assert 0.1 < tokens["kept"].mean() < 0.9
    assert tokens["kept"].equals(tokens["logprob"] < math.log(NEARLY_EVEN))


def test_add_a_benchmark(copy):
    done = follow(copy, *steps("Add a benchmark"), "ruff check ict_core", "ruff format --check ict_core")
    stated = re.search(r'sha256: "([1-9a-f]\w{63})"', steps("Add a benchmark")[2])[1]
    assert f"has {stated}" in done.stdout  # the first `ict data` named it; test_published.py has a hash by hand
    assert jobs(done.stdout) >= Counter(data=1, pretrain=2, train=4, generate=6, grade=6)
    problems = records.read_frame(copy.folder / "try/eval.parquet", records.PROBLEMS)
    sums = problems[problems["benchmark"] == "sums"]
    assert sorted(sums["answer"]) == ["-2", "5"]
    for said, status in ((r"so \boxed{%s}", "correct"), (r"so \boxed{1%s}", "wrong")):
        answers = [said % answer for answer in sums["answer"]]
        completions = sums[["benchmark", "problem"]].assign(sample=0, text=answers, tokens=1, finish_reason="stop")
        assert set(grade_completions(completions, sums, seconds=5, memory_mib=1024, workers=1)["status"]) == {status}


def test_add_a_model(copy):
    files, *rest = steps("Add a model")
    follow(copy, files)
    sizes = load_model(copy.folder / "configs/models/from-folder.yaml").architecture
    tokenizer, checkpoint = train_tokenizer(sizes.vocab_size), copy.folder / "checkpoints/tiny"
    save_checkpoint(build_model(sizes, tokenizer, seed=0), tokenizer, checkpoint)
    done = follow(copy, *rest)
    assert "12 cells to train, 4 base model(s)" in done.stdout
    assert jobs(done.stdout) >= Counter(pretrain=2, fetch_model=2, train=12, generate=16)
    manifest = read_manifest(copy.folder / "try/from-folder/manifest.json")
    assert manifest["model_sha256"] == hash_file(checkpoint / "model.safetensors")
