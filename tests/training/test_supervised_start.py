"""A supervised start: its loss against log-probs taken by hand, what it draws, and what becomes of the checkpoint."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from launch import RECIPE

from ict_core.config.inputs import LocalModel, SupervisedStart, Template
from ict_core.config.methods import Training
from ict_core.errors import UserError
from ict_core.models.read import read_model, read_tokenizer
from ict_core.stages import supervised_start as stage
from ict_core.store import records
from ict_core.store.layout import MANIFEST
from ict_core.store.manifests import check_files, file_hashes, read_manifest, write_manifest
from ict_core.training import supervised_start
from ict_core.training.supervised_start import start_from_solutions

RULE = SupervisedStart(problems=8, batch_sequences=8, learning_rate=0.003, seed=3)
TRAINING = Training.model_validate_json(json.dumps(RECIPE))
SOLVED = pd.DataFrame(
    {
        "problem": [f"p{n}" for n in range(12)],
        "prompt": [f"What is {n} + {n + 1}?" for n in range(12)],
        "completion": [f" {n} + {n + 1} = {2 * n + 1}." for n in range(12)],
    }
)


@pytest.fixture(scope="module")
def fetched(tiny_checkpoint, tmp_path_factory) -> Path:
    """The checkpoint as a job that fetches leaves it."""
    folder = tmp_path_factory.mktemp("fetched") / "model"
    shutil.copytree(tiny_checkpoint, folder)
    write_manifest(folder / MANIFEST, {"files": file_hashes(folder)})
    return folder


def solution_loss(folder: Path, rows: pd.DataFrame) -> float:
    """-ln p of all tokens of the solutions and of the token that ends each, their mean in float64, without TRL."""
    model, tokenizer = read_model(folder, "float32").double().eval(), read_tokenizer(folder)
    taken = []
    for prompt, solution in zip(rows["prompt"], rows["completion"], strict=True):
        ids = [*tokenizer(prompt + solution)["input_ids"], tokenizer.eos_token_id]
        start = len(tokenizer(prompt)["input_ids"])
        with torch.no_grad():
            logprobs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
        taken += [-logprobs[at - 1, ids[at]].item() for at in range(start, len(ids))]
    return sum(taken) / len(taken)


def test_the_first_loss_is_that_of_the_solutions_and_training_lowers_it(fetched, tmp_path):
    everything = SOLVED.iloc[:8]
    losses = start_from_solutions(fetched, everything, RULE, TRAINING, "float32", {}, tmp_path / "started")
    assert losses == [pytest.approx(solution_loss(fetched, everything), abs=1e-4)]
    more = RULE.changed(batch_sequences=1)
    start_from_solutions(fetched, everything, more, TRAINING, "float32", {}, tmp_path / "longer")
    assert solution_loss(tmp_path / "longer", everything) < losses[0] - 0.1


def test_a_batch_taken_in_parts_trains_as_one_taken_whole(fetched, tmp_path, monkeypatch):
    weights, rule = [], RULE.changed(batch_sequences=4)  # two steps, as a warm-up begins with a learning rate of 0
    for together in (2, 4):
        monkeypatch.setattr(supervised_start, "_TOGETHER", together)
        out = tmp_path / str(together)
        losses = start_from_solutions(fetched, SOLVED.iloc[:8], rule, TRAINING, "float32", {}, out)
        weights.append([losses, dict(read_model(out, "float32").named_parameters())])
    (parts, of_parts), (whole, of_whole) = weights
    assert parts == pytest.approx(whole, abs=1e-6)
    before = dict(read_model(fetched, "float32").named_parameters())
    assert max((weight - before[name]).abs().max() for name, weight in of_whole.items()) > 1e-3
    for name, weight in of_parts.items():  # a step of AdamW moves a weight by the learning rate, 0.003
        torch.testing.assert_close(weight, of_whole[name], rtol=0, atol=3e-5)


def test_a_seed_draws_the_same_problems_and_makes_the_same_bytes(fetched, tmp_path):
    rule = RULE.changed(batch_sequences=4)  # two steps, as a warm-up begins with a learning rate of 0
    hashes = {}
    for name, own in {"one": rule, "again": rule, "other": rule.changed(seed=4)}.items():
        start_from_solutions(fetched, SOLVED, own, TRAINING, "bfloat16", {"name": 1}, tmp_path / name)
        hashes[name] = read_manifest(tmp_path / name / MANIFEST)["model_sha256"]
    assert hashes["one"] == hashes["again"] != hashes["other"]


def test_the_checkpoint_keeps_its_stop_ids_and_says_what_was_done(fetched, tmp_path):
    out = tmp_path / "started"
    start_from_solutions(fetched, SOLVED, RULE, TRAINING, "bfloat16", {"a": 1}, out)
    assert (out / "generation_config.json").read_text() == (fetched / "generation_config.json").read_text()
    made = check_files(out)
    whole = pd.Series(SOLVED["prompt"] + SOLVED["completion"])
    assert made["stage"] == "supervised_start" and made["config"] == {"a": 1} and made["tokens"] > 8 * 5
    assert made["tokens"] <= sum(len(ids) + 1 for ids in read_tokenizer(fetched)(list(whole))["input_ids"])
    assert made["fetched_sha256"] != made["model_sha256"]
    assert {weight.dtype for weight in read_model(out, "bfloat16").parameters()} == {torch.bfloat16}
    assert not [path for path in out.iterdir() if path.is_dir()] and read_tokenizer(out).eos_token


def test_the_stage_puts_prompts_into_the_template_and_refuses_what_it_cannot_do(fetched, tmp_path, monkeypatch):
    model = LocalModel.model_construct(
        kind="local", dtype="float32", prompt=Template(template="<{prompt}>", source="made up"), supervised_start=RULE
    )
    study = SimpleNamespace(models={"tiny": model}, training=TRAINING, stage_config=lambda *_: {})
    file = tmp_path / "solutions.parquet"
    records.write_frame(SOLVED, file, records.SOLUTIONS)
    seen = []
    monkeypatch.setattr(stage, "study_of_model", lambda *_: study)
    monkeypatch.setattr(
        supervised_start, "start_from_solutions", lambda _, texts, *__: seen.append(texts) or [1.0, 0.5]
    )
    stage.run(Path("a.yaml"), "tiny", fetched, file, tmp_path / "out")
    assert list(seen[0]["prompt"]) == [f"<{prompt}>" for prompt in SOLVED["prompt"]]
    model = model.model_copy(update={"supervised_start": RULE.changed(problems=16)})
    study.models["tiny"] = model
    with pytest.raises(UserError, match="supervised_start.problems: 16 is not allowed; allowed: at most the 12 of"):
        stage.run(Path("a.yaml"), "tiny", fetched, file, tmp_path / "out")
    study.models["tiny"] = model.model_copy(update={"supervised_start": None})
    with pytest.raises(UserError, match="supervised_start: missing"):
        stage.run(Path("a.yaml"), "tiny", fetched, file, tmp_path / "out")
