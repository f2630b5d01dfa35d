"""What a training leaves: a model in its dtype, adapters merged; and the prompts that it leaves out."""

import json
from types import SimpleNamespace

import pytest
import torch
import yaml
from launch import RECIPE
from short_runs import MODEL, RESOLVED
from transformers import AutoModelForCausalLM, AutoTokenizer

from ict_core.config.inputs import Hardware
from ict_core.config.methods import Training
from ict_core.config.selectors import Grpo
from ict_core.errors import UserError
from ict_core.problems.mini.problems import training_problems
from ict_core.training.model_card import model_card
from ict_core.training.run import TrainingRun, train_run

pytestmark = pytest.mark.usefixtures("rewards")


def trained(tiny_checkpoint, out, dtype="float32", hardware=None, **changes):
    training = Training.model_validate_json(json.dumps(RECIPE | {"steps": 1} | changes))
    model = SimpleNamespace(**vars(MODEL) | {"dtype": dtype, "hardware": hardware})
    method = Grpo(selector="grpo", normaliser="response")
    training_run = TrainingRun(tiny_checkpoint, training_problems(0, 40, set()), model, training, method, 0)
    train_run(training_run, {}, RESOLVED, out)
    weights = AutoModelForCausalLM.from_pretrained(out / "model", dtype="auto").state_dict()
    return weights, json.loads((out / "manifest.json").read_text())


@pytest.mark.slow
def test_the_model_is_saved_in_its_dtype_with_its_stop_ids_and_nothing_else(tiny_checkpoint, tmp_path):
    hardware = Hardware(
        accelerate="one-gpu",
        gpus=1,
        micro_batch_sequences=2,
        gradient_checkpointing=True,
        memory_gib=1,
        train_hours=1.0,
        generate_hours=1.0,
    )
    full, _ = trained(tiny_checkpoint, tmp_path / "full")
    base = AutoModelForCausalLM.from_pretrained(tiny_checkpoint, dtype="float32").state_dict()
    assert any(not torch.equal(weight, base[name]) for name, weight in full.items())
    half, manifest = trained(tiny_checkpoint, tmp_path / "half", dtype="bfloat16", hardware=hardware)
    assert {weight.dtype for weight in half.values()} == {torch.bfloat16}
    for name, weight in full.items():  # gradient checkpointing computes the same
        torch.testing.assert_close(half[name].float(), weight, rtol=2**-7, atol=1e-4)
    stops = [json.loads((f / "generation_config.json").read_text())["eos_token_id"] for f in
             (tiny_checkpoint, tmp_path / "half/model", tmp_path / "full/model")]  # fmt: skip
    assert stops[0] == stops[1] == stops[2]
    assert {path.name for path in (tmp_path / "half").iterdir()} == {
        *("log.parquet", "timing.parquet", "tokens.parquet", "manifest.json", "model")
    }
    assert manifest["ranks"] == 1 and manifest["prompts_too_long"] == 0
    card = (tmp_path / "half/model/README.md").read_text()
    head = yaml.safe_load(card.split("---")[1])
    assert head == {"library_name": "transformers", "tags": ["grpo", "rlvr", "token-selection", "grpo"]}
    assert "# tiny, grpo, seed 7" in card and "tiny, from a local folder" in card and manifest["model_sha256"] in card
    assert f"commit {manifest['source']['commit']}" in card and "learning_rate 0.001" in card and "lora" not in card
    for private in ("/home", "secret", str(tmp_path), manifest["platform"]["cpu"]):
        assert private not in card


def test_the_card_of_a_model_of_the_hub_names_it_and_its_licence():
    hub = {"name": "qwen", "kind": "hub", "hub": "Qwen/Qwen2.5-0.5B", "revision": "0" * 40, "licence": "Apache-2.0"}
    facts = dict.fromkeys(("base_sha256", "problems_sha256", "model_sha256"), "ab" * 32)
    facts["source"] = {"commit": None, "sha256": "cd" * 32}
    card = model_card(RESOLVED | {"model": hub, "data": {"train_sets": [{"name": "gsm8k-train"}]}}, facts)
    head = yaml.safe_load(card.split("---")[1])
    assert head["base_model"] == "Qwen/Qwen2.5-0.5B" and head["license"] == "apache-2.0"
    assert "gsm8k-train" in card and "Qwen/Qwen2.5-0.5B at 000000000000" in card


@pytest.mark.slow
def test_adapters_are_merged_into_a_whole_model(tiny_checkpoint, tmp_path):
    base = AutoModelForCausalLM.from_pretrained(tiny_checkpoint, dtype="float32").state_dict()
    weights, _ = trained(tiny_checkpoint, tmp_path / "run", lora={"rank": 2, "alpha": 4}, learning_rate=0.1)
    assert weights.keys() == base.keys()
    changed = {name for name, weight in weights.items() if not torch.equal(weight, base[name])}
    assert changed and all("_proj.weight" in name for name in changed)


@pytest.mark.slow
def test_prompts_beyond_the_limit_are_left_out_and_counted(tiny_checkpoint, tmp_path):
    prompts = training_problems(0, 40, set())["prompt"].tolist()
    lengths = sorted(map(len, AutoTokenizer.from_pretrained(tiny_checkpoint)(prompts)["input_ids"]))
    limit = lengths[20]
    _, manifest = trained(tiny_checkpoint, tmp_path / "run", max_prompt_tokens=limit)
    assert manifest["prompts_too_long"] == sum(length > limit for length in lengths) > 0
    least = lengths[RECIPE["prompts_per_step"] - 1]
    with pytest.raises(UserError, match=rf"max_prompt_tokens: 1 .* at least {least}"):
        trained(tiny_checkpoint, tmp_path / "none", max_prompt_tokens=1)


def test_fewer_prompts_than_a_step_has_are_refused(tiny_checkpoint, tmp_path):
    with pytest.raises(UserError, match="40 training problems .* at least 48"):
        trained(tiny_checkpoint, tmp_path / "none", prompts_per_step=48, max_prompt_tokens=100)


@pytest.mark.parametrize("launcher", ["", "a hash"])
def test_a_training_resumes_only_as_its_launcher_says(monkeypatch, tiny_checkpoint, tmp_path, launcher):
    def stop(selector, resolved, inputs):
        found.append(inputs)
        raise KeyboardInterrupt

    found = []
    monkeypatch.setattr("ict_core.training.run.origin", stop)
    training, method = Training.model_validate_json(json.dumps(RECIPE)), Grpo(selector="grpo", normaliser="response")
    problems = training_problems(0, 40, set())
    with pytest.raises(KeyboardInterrupt):
        run = TrainingRun(tiny_checkpoint, problems, MODEL, training, method, 0, launcher=launcher)
        train_run(run, {}, RESOLVED, tmp_path / "out")
    assert found[0].get("launcher_sha256", "") == launcher
