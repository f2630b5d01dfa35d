"""A training that was killed goes on at its last whole checkpoint, and ends with the bytes of one that was not."""

import json
import time
from contextlib import nullcontext
from dataclasses import replace
from decimal import Decimal

import pandas as pd
import pytest
from launch import RECIPE
from short_runs import MODEL, RESOLVED, LengthPool
from transformers.trainer_utils import rotate_checkpoints

from ict_core.config.methods import Training
from ict_core.config.selectors import TopScore
from ict_core.config.study_file import LearningCurve
from ict_core.errors import UserError
from ict_core.models.read import read_tokenizer
from ict_core.problems.mini.problems import training_problems
from ict_core.process import numerics
from ict_core.process.machine import hardware_class
from ict_core.store import records
from ict_core.store.layout import TrainFiles
from ict_core.store.manifests import write_manifest
from ict_core.training.learning_curve import HeldOut
from ict_core.training.resume import Checkpoints, origin
from ict_core.training.run import TrainingRun, train_run

RANDOM = TopScore(selector="top-score", normaliser="kept", score="random", percent=Decimal(20), warmup_steps=2)
BYTES = ("model/model.safetensors", "log.parquet", "tokens.parquet")
CURVE = LearningCurve(every=2, problems=5, samples=2, benchmarks=("other",))


@pytest.fixture(scope="module")
def run(tiny_checkpoint):
    """Train in a folder: seven steps of three of eight problems, so of four epochs; or so many, and part of one."""

    def train_in(out, kill_at=None, seed=0, recorded=False, stop_after=None, **changes):
        pool = nullcontext(LengthPool(kill_at))
        patched.setattr("ict_core.training.run.GradingPool", lambda **_: pool)
        training = Training.model_validate_json(json.dumps(RECIPE | {"steps": 7} | changes))
        problems = training_problems(0, 8, set())
        resolved = RESOLVED | {"training": training.dump(), "seed": seed}
        try:
            training_run = TrainingRun(tiny_checkpoint, problems, MODEL, training, RANDOM, seed, known_forks=True)
            if recorded:
                asked = training_problems(1, 12, set())
                asked["benchmark"] = ["other", "another"] * 6
                training_run = replace(training_run, held_out=HeldOut.of(CURVE, asked, 3), keep_rollouts=True)
            train_run(training_run, {}, resolved, out, stop_after)
        except KeyboardInterrupt:
            return None
        return [(out / name).read_bytes() for name in BYTES], json.loads((out / "manifest.json").read_text())

    with pytest.MonkeyPatch.context() as patched:
        yield train_in


@pytest.fixture(scope="module")
def whole(run, tmp_path_factory):
    """An uninterrupted training."""
    return run(tmp_path_factory.mktemp("whole") / "train")


@pytest.mark.slow
def test_a_resumed_training_ends_with_the_bytes_of_an_uninterrupted_one(run, whole, tmp_path, capsys):
    assert whole[1]["resumed_at"] == []
    out, checkpoints = tmp_path / "killed", tmp_path / "killed.checkpoints"
    assert run(out, kill_at=5, checkpoint_every=2) is None
    assert sorted(path.name for path in checkpoints.iterdir()) == ["checkpoint-2", "checkpoint-4"]
    assert not list(checkpoints.rglob("*.bin"))  # a pickle of transformers' arguments
    assert all((checkpoint / "manifest.json").exists() for checkpoint in checkpoints.iterdir())
    with pytest.raises(UserError, match="--stop-after: 4 .*allowed: more than 4"):
        run(out, stop_after=4, checkpoint_every=2)
    optimizer = checkpoints / "checkpoint-4" / "optimizer.pt"
    data = bytearray(optimizer.read_bytes())
    data[len(data) // 2] ^= 1
    optimizer.write_bytes(data)
    assert run(out, kill_at=0, checkpoint_every=2) is None
    assert f"{optimizer}: its bytes are not those that were written" in capsys.readouterr().err
    found, manifest = run(out, checkpoint_every=1)  # which belongs to no training
    assert found == whole[0]
    assert manifest["resumed_at"] == [2]
    assert not checkpoints.exists()


@pytest.mark.slow
def test_a_training_that_ends_early_and_is_killed_at_its_end_takes_no_step_more(run, tmp_path, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    whole, _ = run(tmp_path / "whole", stop_after=3)
    with monkeypatch.context() as at_the_end:
        at_the_end.setattr("ict_core.training.run.save_weights", killed)
        assert run(tmp_path / "killed", stop_after=3, checkpoint_every=1) is None
    found, manifest = run(tmp_path / "killed", stop_after=3, checkpoint_every=1)
    assert found == whole and (manifest["resumed_at"], manifest["stopped_after"]) == ([2], 3)
    assert len(records.read_frame(tmp_path / "killed/log.parquet", records.LOG)) == 3


@pytest.mark.slow
def test_a_training_of_two_updates_goes_on_with_the_prompts_of_its_epoch(run, tmp_path):
    twice = {"updates_per_rollout": 2, "steps": 8, "checkpoint_every": 2}  # two batches of three of eight problems
    whole, _ = run(tmp_path / "whole", **twice)
    assert run(tmp_path / "killed", kill_at=3, **twice) is None
    found, manifest = run(tmp_path / "killed", **twice)
    assert manifest["resumed_at"] == [6] and found == whole  # in the second epoch, which has steps 4 to 8


@pytest.mark.slow
@pytest.mark.parametrize("chosen", ["portable", "native"])
def test_a_training_goes_on_on_another_cpu_and_its_manifest_names_both(
    run, whole, tmp_path, monkeypatch, capsys, chosen
):
    monkeypatch.setattr(numerics, "chosen", lambda: chosen)
    there, here = "Another CPU", numerics.cpu_facts("model name")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(numerics, "cpu_facts", lambda key: there)
        elsewhere.setattr(numerics, "cpu_flags", lambda: ("avx2", "avx512f"))
        assert run(tmp_path / "killed", kill_at=5, checkpoint_every=2) is None
    found, manifest = run(tmp_path / "killed", checkpoint_every=2)
    assert found == whole[0] and manifest["resumed_at"] == [4] and "set aside" not in capsys.readouterr().err
    (earlier,) = manifest["earlier_machines"]
    assert (earlier["cpu"], manifest["platform"]["cpu"]) == (there, here)
    own = hardware_class(manifest["platform"], manifest["process"])
    assert (earlier["hardware"] == own) == (chosen == "portable")


def frames(out):
    """What a training has recorded: its learning curve, and its rollouts by their files' names."""
    files = TrainFiles(out)
    rollouts = {f.name: records.read_frame(f, records.KEPT_ROLLOUTS) for f in sorted(files.rollouts.iterdir())}
    return records.read_frame(files.learning_curve, records.LEARNING_CURVE), rollouts


@pytest.mark.slow
def test_what_is_recorded_changes_no_byte_of_a_training_and_outlives_a_kill(run, whole, tmp_path, tiny_checkpoint):
    plain, manifest = whole
    recorded, own = run(tmp_path / "whole", recorded=True)
    assert recorded == plain and "held_out_sha256" in own and "held_out_sha256" not in manifest
    assert ["rollouts" in str(facts["files"]) for facts in (manifest, own)] == [False, True]
    curve, rollouts = frames(tmp_path / "whole")
    assert curve["step"].unique().tolist() == [0, 2, 4, 6] and len(curve) == 4 * 5 * 2
    asked = curve.groupby("step")[["problem", "sample"]].apply(lambda rows: rows.to_numpy().tolist())
    assert all(rows == asked[0] for rows in asked) and set(curve["benchmark"]) == {"other"}
    assert set(curve["status"]) == {"correct", "wrong"} and curve["tokens"].min() > 0
    for kill_at in (5, 4):  # gradings, of rollouts and of points: two steps after each checkpoint
        assert run(tmp_path / "killed", kill_at=kill_at, recorded=True, checkpoint_every=2) is None
    found, manifest = run(tmp_path / "killed", recorded=True, checkpoint_every=2)
    assert found == plain and manifest["resumed_at"] == [2, 4]
    again, kept = frames(tmp_path / "killed")
    assert again.equals(curve) and kept.keys() == rollouts.keys() and len(kept) == 7
    assert all(kept[name].equals(rollouts[name]) for name in kept)
    log = records.read_frame(tmp_path / "whole" / "log.parquet", records.LOG)
    every = pd.concat(rollouts.values())
    assert every.groupby("step")["reward"].mean().tolist() == pytest.approx(log["reward"].tolist())
    assert every.groupby("step")["tokens"].sum().tolist() == log["tokens"].tolist()
    kept_share = every["weight"].map(sum).groupby(every["step"]).sum() / every.groupby("step")["tokens"].sum()
    assert kept_share.tolist() == pytest.approx(log["kept_share"].tolist())
    assert (every["ids"].map(len) == every["tokens"]).all() and (every["logprob"].map(max) <= 0).all()
    assert set(every["problem"]) <= set(training_problems(0, 8, set())["problem"])
    text = read_tokenizer(tiny_checkpoint).decode(every["ids"].iloc[0], skip_special_tokens=True)
    assert every["text"].iloc[0] == text


def sealed(folder, step, seconds=1.0, **origin):
    """A checkpoint of two files after some seconds."""
    checkpoint = folder / f"checkpoint-{step}"
    (checkpoint / "shards").mkdir(parents=True)
    (checkpoint / "weights").write_bytes(b"w" * 100)
    (checkpoint / "shards" / "optimizer").write_bytes(b"o" * 100)
    Checkpoints(folder, origin, time.perf_counter() - seconds).seal(checkpoint)
    return checkpoint


def test_an_older_checkpoint_goes_once_a_newer_one_is_whole(tmp_path, monkeypatch):
    def there():
        return sorted(path.name for path in tmp_path.iterdir())

    def write(path, content):
        seen.append(there())
        write_manifest(path, content)

    seen = []
    monkeypatch.setattr("ict_core.training.resume.write_manifest", write)
    for step in (8, 9, 10):
        (tmp_path / f"checkpoint-{step}").mkdir()
        Checkpoints(tmp_path, {}, 0.0, kept=2).seal(tmp_path / f"checkpoint-{step}")
    assert seen[-1] == ["checkpoint-10", "checkpoint-8", "checkpoint-9"]  # until the newest has its manifest
    assert there() == ["checkpoint-10", "checkpoint-9"]


def test_only_the_gpus_of_a_machine_decide_whether_a_training_goes_on(tmp_path, monkeypatch):
    def origin_on(cpu, *gpus):
        monkeypatch.setattr("ict_core.training.resume.this_hardware", lambda: [cpu, *gpus])
        return origin("grpo", {}, {})

    sealed(tmp_path, 9, **origin_on("a CPU", "NVIDIA H100"))
    assert Checkpoints(tmp_path, origin_on("another CPU", "NVIDIA H100"), 0.0).resume().name == "checkpoint-9"
    assert Checkpoints(tmp_path, origin_on("a CPU", "NVIDIA A100"), 0.0).resume() is None


def changed(name, change):
    return lambda checkpoint: (checkpoint / name).write_bytes(change((checkpoint / name).read_bytes()))


HARMS = {
    "shards/optimizer: its bytes": changed("shards/optimizer", lambda data: data[:-1]),
    "weights: no such file": lambda checkpoint: (checkpoint / "weights").unlink(),
    "not finished": lambda checkpoint: (checkpoint / "manifest.json").unlink(),
    "manifest.json: ": changed("manifest.json", lambda data: data[:-20]),
    "manifest.json:": changed("manifest.json", lambda data: data.replace(b'"seconds": 1', b'"seconds": 3')),
}


@pytest.mark.parametrize("named", HARMS)
def test_a_harmed_checkpoint_is_named_and_the_one_before_is_taken(tmp_path, capsys, named):
    before, newest = sealed(tmp_path, 9, seed=0), sealed(tmp_path, 10, seed=0)
    HARMS[named](newest)
    started = time.perf_counter()
    checkpoints = Checkpoints(tmp_path, {"seed": 0}, started)
    resumed = checkpoints.resume()
    assert resumed == before and checkpoints.resumed_at == [9]
    assert 1 <= started - checkpoints.started < 60  # the second before
    assert f"{newest}" in (error := capsys.readouterr().err) and named in error and error.count("\n") == 1
    assert before.exists() and not newest.exists() and (tmp_path / "harmed-1-checkpoint-10").exists()


@pytest.mark.parametrize("other", [{"seed": 1}, {"seed": 0, "base weights": "b"}])
def test_a_checkpoint_of_anything_else_is_named_and_set_aside(tmp_path, capsys, other):
    foreign = sealed(tmp_path, 9, seed=0)
    assert Checkpoints(tmp_path, other, 0.0).resume() is None
    error = capsys.readouterr().err
    assert f"{foreign}: a checkpoint of another training (other {[*other][-1]})" in error and error.count("\n") == 1
    assert (tmp_path / "foreign-1-checkpoint-9" / "weights").exists()
    sealed(tmp_path, 9, seed=0)
    assert Checkpoints(tmp_path, other, 0.0).resume() is None
    assert sorted(f.name for f in tmp_path.iterdir()) == ["foreign-1-checkpoint-9", "foreign-2-checkpoint-9"]
    rotate_checkpoints(str(tmp_path), save_total_limit=1)
    assert len(list(tmp_path.iterdir())) == 2  # transformers takes none of them for one of its own
    (tmp_path / "checkpoint-3").mkdir()
    Checkpoints(tmp_path, other, 0.0).remove()  # as of a training that has finished
    assert sorted(f.name for f in tmp_path.iterdir()) == ["foreign-1-checkpoint-9", "foreign-2-checkpoint-9"]
    assert Checkpoints(tmp_path / "none", {}, 0.0).resume() is None
