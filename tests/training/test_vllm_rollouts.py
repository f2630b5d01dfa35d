"""Rollouts by a real vLLM in the training loop, on the CPU; and the requests that a server is sent."""

import inspect
import os
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from launch import train
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl.generation import vllm_generation
from trl.generation.vllm_generation import VLLMGeneration

from ict_core.config import Correction, Rollouts
from ict_core.training import engine_for_rollouts

ROLLOUTS = {
    "engine": "vllm-colocate",
    "memory_share": 0.3,
    "sleep": False,
    "correction": {"mode": "token_mask", "clip_min": 0.5, "clip_max": 2.0},
    "probe_bound": 0.001,
}


@pytest.fixture(scope="module")
def untied_checkpoint(tiny_checkpoint, tmp_path_factory):
    """The tiny model with a head of its own, whose weights vLLM's CPU backend can replace."""
    folder = tmp_path_factory.mktemp("untied") / "model"
    tied = AutoModelForCausalLM.from_pretrained(tiny_checkpoint, dtype="float32")
    tied.config.tie_word_embeddings = False
    model = type(tied)(tied.config)
    weights = tied.state_dict()
    model.load_state_dict(weights | {"lm_head.weight": weights["model.embed_tokens.weight"].clone()})
    model.generation_config = tied.generation_config
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_checkpoint).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def runs(tiny_checkpoint, untied_checkpoint, tmp_path_factory):
    """Of the same weights: with a head of its own and seed 0, and tied with seed 1."""

    def run(checkpoint, seed):
        spec = {"selector": "top-score", "served": False, "seed": seed, "training": {"rollouts": ROLLOUTS}}
        return train(tmp_path_factory.mktemp("vllm"), checkpoint, run=spec)["run"]

    return run(untied_checkpoint, 0), run(tiny_checkpoint, 1)


def rollouts(run, step):
    of_step = run.tokens[run.tokens["step"] == step]
    return of_step.groupby(["group", "rollout"])["token"].apply(tuple)


@pytest.mark.slow
@pytest.mark.long
def test_vllm_samples_from_the_trained_weights(runs):
    run, _ = runs
    assert run.stopped == ""
    assert (run.steps["probe_difference"] < 1e-5).all()
    assert (run.steps["sampler_difference"] < 1e-4).all()
    assert (run.steps["corrected_share"] == 0).all()
    assert run.steps["grad_norm"].gt(0).all()
    assert run.engine["engine"]["model_config"]["dtype"] == "torch.float32"
    assert run.engine["engine"]["scheduler_config"]["enable_chunked_prefill"] is False


@pytest.mark.slow
@pytest.mark.long
def test_every_rollout_has_a_seed_of_its_own_run_and_step(runs):
    drawn = [rollouts(runs[0], 0), rollouts(runs[0], 1), rollouts(runs[1], 0)]
    assert [len(texts) for texts in drawn] == [3 * 4] * 3
    assert pd.concat(drawn).is_unique


@pytest.mark.slow
@pytest.mark.long
def test_a_transfer_that_loses_the_head_stops_the_run(runs):
    _, tied = runs
    assert tied.stopped.startswith("step 1: vLLM's log-probs of 4 fixed prompts differ from the trainer's by")
    assert set(tied.tokens["step"]) == {0}


def test_a_server_gets_one_request_a_prompt_with_a_seed_of_its_own():
    from ict_core.training._rollouts import SeededSampler

    asked = []

    def generate(prompts, n, generation_kwargs, **sampling):
        asked.append((prompts, n, generation_kwargs, sampling))
        return {"prompt_ids": prompts, "completion_ids": [[*prompts[0], i] for i in range(n)], "logprobs": [[0.0]] * n}

    client = SimpleNamespace(
        generate=generate,
        get_sequence_logprobs=lambda prompts, *_: {"actual_logprobs": [[[-0.5]] * (len(p) - 1) for p in prompts]},
    )
    generation = SimpleNamespace(
        mode="server",
        vllm_client=client,
        accelerator=SimpleNamespace(is_main_process=True, device=torch.device("cuda")),
        sync_weights=lambda: asked.append("weights"),
    )
    sampler = SeededSampler(generation, probe=[[1, 2, 3]], seed_of=lambda number: 100 + number)
    generation.sync_weights()
    answer = client.generate(prompts=[[5], [6]], n=4, generation_kwargs={"min_tokens": 1}, temperature=1.0)
    assert asked[0] == "weights"
    seeds = {tuple(prompts[0]): kwargs for prompts, _, kwargs, _ in asked[1:]}
    assert seeds == {(5,): {"min_tokens": 1, "seed": 100}, (6,): {"min_tokens": 1, "seed": 104}}
    assert answer["completion_ids"] == [[5, i] for i in range(4)] + [[6, i] for i in range(4)]
    assert [scores.tolist() for scores in sampler.take_probe()] == [[-0.5, -0.5]]
    client.generate(prompts=[[5]], n=4, temperature=1.0)
    assert sampler.take_probe() is None  # no weights came since


def test_two_trainers_in_one_process_have_engines_of_their_own(monkeypatch):
    monkeypatch.setattr(vllm_generation, "LLM", lambda **settings: settings, raising=False)
    plain = vllm_generation.LLM
    with engine_for_rollouts(100, "float32"):
        first = vllm_generation.LLM(model="a", max_num_batched_tokens=4096)
    with pytest.raises(KeyError), engine_for_rollouts(5000, "bfloat16"):
        second = vllm_generation.LLM(model="b", max_num_batched_tokens=4096)
        raise KeyError("a trainer that cannot be built")
    assert (first["model"], first["dtype"]) == ("a", "float32")
    assert (second["model"], second["dtype"]) == ("b", "bfloat16")
    if not torch.cuda.is_available():
        assert (first["max_num_batched_tokens"], second["max_num_batched_tokens"]) == (4096, 5000)
    assert vllm_generation.LLM is plain


def test_trl_still_has_no_option_for_the_settings_of_its_engine():
    """Where this fails, give the settings to TRL and remove ``engine_for_rollouts``."""
    options = set(inspect.signature(VLLMGeneration.__init__).parameters)
    assert {name for name in options if "dtype" in name or name.endswith("kwargs")} == {"generation_kwargs"}


def test_trl_is_told_of_vllm_what_the_recipe_says():
    from ict_core.training._run import _vllm

    correction = Correction(mode="token_mask", clip_min=0.5, clip_max=2.0)
    beside = Rollouts(engine="vllm-colocate", memory_share=0.4, sleep=True, correction=correction, probe_bound=0.1)
    told = _vllm(beside, 1536)
    assert told["vllm_mode"] == "colocate" and told["vllm_max_model_length"] == 1536
    assert told["vllm_importance_sampling_mode"] == "token_mask" and told["vllm_importance_sampling_clip_max"] == 2.0
    server = Rollouts(engine="vllm-server", server="http://a:1", correction=correction, probe_bound=0.1)
    assert _vllm(server, 1536)["vllm_server_base_url"] == "http://a:1"


@pytest.mark.parametrize("given", [{}, {"MASTER_PORT": "4321"}, {"WORLD_SIZE": "2"}])
def test_trainings_beside_each_other_take_ports_of_their_own(monkeypatch, given):
    from ict_core.training._rollouts import take_a_port

    def port():
        for name in ("MASTER_PORT", "WORLD_SIZE"):
            monkeypatch.delenv(name, raising=False)
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        take_a_port()
        return os.environ.get("MASTER_PORT")

    ports = [port() for _ in range(2)]
    if given:
        assert ports == [given.get("MASTER_PORT")] * 2
    else:
        assert "29500" not in ports and ports[0] != ports[1]
