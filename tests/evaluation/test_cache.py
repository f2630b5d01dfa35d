"""Only what is new is sampled, what is stored is never another's, and the result has the same bytes either way."""

import multiprocessing
import os
import shutil
import time
from dataclasses import replace

import pandas as pd
import pytest

from ict_core.errors import UserError
from ict_core.evaluation import generate as module
from ict_core.evaluation.engine import Completion, Engine, Sampling, engine_version
from ict_core.evaluation.generate import CachedEngine, generate, sampler_settings
from ict_core.store import records

SAMPLING = Sampling(temperature=0.9, top_p=1.0, max_new_tokens=6, stop_token_ids=(0,))
SETTINGS = {"engine": "fake", "model_sha256": "a", "dtype": "float32"}


class Fake(Engine):
    """Writes a text that says what it was asked, last request first; dies after so many."""

    def __init__(self, lives=10**9, death=KeyboardInterrupt):
        self.asked, self.lives, self.death = [], lives, death

    def settings(self, sampling):
        return {"asked": len(self.asked)}

    def stream(self, requests, sampling):
        for position, request in reversed(list(enumerate(requests))):
            if len(self.asked) == self.lives:
                raise self.death
            self.asked.append(request)
            text = f"{request.prompt} {request.seed} {sampling.temperature}"
            yield position, Completion(text, tuple(range(len(text))), len(text), "stop", -1 / (1 + request.seed))


def problems(*benchmarks):
    rows = [(b, f"{i}", f"{i} é", "[]", f"{b} prompt {i} é\n", "1", "integer") for b in benchmarks for i in range(3)]
    return pd.DataFrame(rows, columns=list(records.PROBLEMS))


WORD, BOTH = problems("word"), problems("word", "stem")


def run(folder, frame=WORD, n=2, seed=7, sampling=SAMPLING, settings=SETTINGS, **fate):
    """The completions, the number that was sampled, and the number that was reused."""
    fake = Fake(**fate)
    engine = CachedEngine(lambda: fake, folder, settings)
    found = generate(engine, frame, dict.fromkeys(frame["benchmark"], n), seed, sampling)
    assert (engine.settings(sampling) is None) == (not fake.asked), "an engine is loaded only to sample"
    return found, len(fake.asked), len(engine.reused)


def bytes_of(frame, folder):
    records.write_frame(frame, folder / "frame", records.SAMPLED)
    return (folder / "frame").read_bytes()


def test_a_benchmark_and_samples_are_added_and_the_bytes_are_those_without_a_cache(tmp_path):
    cache = tmp_path / "cache"
    assert run(cache)[1:] == (6, 0)
    assert run(cache)[1:] == (0, 6)
    assert run(cache, BOTH)[1:] == (6, 6)
    found, *counts = run(cache, BOTH, n=5)
    assert counts == [18, 12]
    assert run(cache, WORD, n=1)[1:] == (0, 3)
    plain = generate(Fake(), BOTH, {"word": 5, "stem": 5}, 7, SAMPLING)
    assert bytes_of(found, tmp_path) == bytes_of(plain, tmp_path)


@pytest.mark.parametrize(
    "other",
    [
        {"settings": SETTINGS | {"model_sha256": "b"}},
        {"settings": SETTINGS | {"dtype": "bfloat16"}},
        {"sampling": replace(SAMPLING, temperature=1.0)},
        {"sampling": replace(SAMPLING, top_p=0.9)},
        {"sampling": replace(SAMPLING, max_new_tokens=7)},
        {"sampling": replace(SAMPLING, stop_token_ids=(0, 1))},
        {"seed": 8},
        {"frame": WORD.assign(prompt=WORD["prompt"] + " ")},
    ],
    ids=lambda other: next(iter(other)),
)
def test_nothing_is_reused_for_anything_else(tmp_path, other):
    run(tmp_path)
    assert run(tmp_path, **other)[1:] == (6, 0)


@pytest.mark.parametrize("death", [RuntimeError, KeyboardInterrupt])
def test_what_was_sampled_before_an_engine_died_or_the_job_was_ended_is_not_sampled_again(tmp_path, death):
    with pytest.raises(death):
        run(tmp_path, lives=4, death=death)
    found, *counts = run(tmp_path)
    assert counts == [2, 4]
    pd.testing.assert_frame_equal(found, generate(Fake(), WORD, {"word": 2}, 7, SAMPLING))


@pytest.mark.parametrize("damage", ["truncated", "one bit", "a folder"])
def test_a_damaged_part_is_named_set_aside_and_sampled_anew(tmp_path, capsys, damage):
    run(tmp_path)
    (part,) = tmp_path.rglob("*.parquet")
    whole = part.read_bytes()
    if damage == "a folder":
        part.unlink()
        part.mkdir()
    else:
        part.write_bytes(whole[:-20] if damage == "truncated" else whole[:60] + bytes([whole[60] ^ 1]) + whole[61:])
    assert run(tmp_path)[1:] == (6, 0)
    assert f"{part}" in capsys.readouterr().err
    assert part.with_suffix(".damaged").exists()
    assert run(tmp_path)[1:] == (0, 6)
    assert "set aside" not in capsys.readouterr().err


def test_jobs_that_share_a_folder_do_not_disturb_each_other(tmp_path, monkeypatch):
    """Two with a seed of their own, and two that sample the same."""
    monkeypatch.setattr(module, "_PART_SECONDS", 0.0)
    asked = [(tmp_path, WORD, 3, seed) for seed in (1, 2, 2)]
    jobs = [multiprocessing.get_context("fork").Process(target=run, args=arguments) for arguments in asked]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert [job.exitcode for job in jobs] == [0, 0, 0]
    assert len([*tmp_path.iterdir()]) == 1
    assert [run(tmp_path, seed=seed, n=3)[1] for seed in (1, 2, 3)] == [0, 0, 9]
    assert not [*tmp_path.rglob("*.damaged"), *tmp_path.rglob("*.unnamed*")]


def test_what_a_killed_job_left_without_a_name_is_removed_and_what_another_writes_is_not(tmp_path):
    run(tmp_path)
    (folder,) = tmp_path.iterdir()
    (old, partial, new) = (folder / name for name in ("a.unnamed", "b.unnamed.partial", "c.unnamed.partial"))
    for file in (old, partial, new):
        file.write_bytes(b"PAR1")
    for file in (old, partial):
        os.utime(file, (time.time() - 4000, time.time() - 4000))
    assert run(tmp_path)[1:] == (0, 6)
    assert [file.exists() for file in (old, partial, new)] == [False, False, True]


def test_the_settings_follow_the_checkpoints_files(tiny_checkpoint, tmp_path):
    copy = shutil.copytree(tiny_checkpoint, tmp_path / "model")
    before = sampler_settings("transformers", copy, 1, "float32")
    assert before == sampler_settings("transformers", tiny_checkpoint, 1, "float32")
    assert before["engine_version"] == engine_version("transformers")
    (copy / "manifest.json").write_text("{}")  # says when and where it was made
    assert sampler_settings("transformers", copy, 1, "float32") == before
    for file in ("model.safetensors", "config.json", "tokenizer.json"):
        content = (copy / file).read_bytes()
        (copy / file).write_bytes(content[:-1] + b" ")
        assert sampler_settings("transformers", copy, 1, "float32") != before
        (copy / file).write_bytes(content)
    for other in (("vllm", copy, 1, "float32"), ("transformers", copy, 2, "float32"), ("transformers", copy, 1, "f")):
        assert sampler_settings(*other) != before
    with pytest.raises(UserError, match=r"no \*\.safetensors there"):
        sampler_settings("vllm", tmp_path, 1, "float32")
