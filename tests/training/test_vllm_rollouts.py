"""Rollouts by a real vLLM in the training loop, on the CPU; and the requests that a server is sent."""

import os
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from launch import train
from test_trainer import recipe
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl.generation.vllm_generation import VLLMGeneration
from trl.trainer import grpo_trainer

from ict_core.errors import UserError
from ict_core.training.rollouts import SeededGeneration, seeded_generation, take_a_port, weight_difference
from ict_core.training.run import build_trainer, grpo_config

ROLLOUTS = {
    "engine": "vllm-colocate",
    "memory_share": 0.3,
    "sleep": False,
    "correction": {"mode": "token_mask", "clip_min": 0.5, "clip_max": 2.0},
    "probe_bound": 0.001,
}
BESIDE = ROLLOUTS | {"memory_share": 0.4, "sleep": True}
SERVER = {key: ROLLOUTS[key] for key in ("correction", "probe_bound")} | {
    "engine": "vllm-server",
    "server": "http://a:1",
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
    """Of the same weights: with a head of its own and seed 0, tied with seed 1, and the first one with a record."""

    def run(checkpoint, seed, **more):
        spec = {"selector": "top-score", "served": False, "seed": seed, "training": {"rollouts": ROLLOUTS}, **more}
        return train(tmp_path_factory.mktemp("vllm"), checkpoint, run=spec)["run"]

    return run(untied_checkpoint, 0), run(tiny_checkpoint, 1), run(untied_checkpoint, 0, recorded=True)


def rollouts(run, step):
    of_step = run.tokens[run.tokens["step"] == step]
    return of_step.groupby(["group", "rollout"])["token"].apply(tuple)


@pytest.mark.long
def test_vllm_samples_from_the_trained_weights(runs):
    run, *_ = runs
    assert run.stopped == ""
    assert (run.steps["probe_difference"] < 1e-5).all()
    assert (run.steps["sampler_difference"] < 1e-4).all()
    assert (run.steps["corrected_share"] == 0).all()
    assert run.steps["grad_norm"].gt(0).all()
    assert run.engine["engine"]["model_config"]["dtype"] == "torch.float32"
    assert run.engine["engine"]["scheduler_config"]["enable_chunked_prefill"] is False


@pytest.mark.long
def test_every_rollout_has_a_seed_of_its_own_run_and_step(runs):
    drawn = [rollouts(runs[0], 0), rollouts(runs[0], 1), rollouts(runs[1], 0)]
    assert [len(texts) for texts in drawn] == [3 * 4] * 3
    assert pd.concat(drawn).is_unique


@pytest.mark.long
def test_a_transfer_that_loses_the_head_stops_the_run(runs):
    _, tied, _ = runs
    assert tied.stopped.startswith("step 1: vLLM's log-probs of 4 fixed prompts differ from the trainer's by")
    assert set(tied.tokens["step"]) == {0}


@pytest.mark.long
def test_answers_of_a_learning_curve_change_no_rollout_and_no_weight(runs):
    run, _, recorded = runs
    assert len(pd.read_parquet(recorded.files.learning_curve)) == 3 * 5 * 2  # before, between and after two steps
    pd.testing.assert_frame_equal(recorded.tokens, run.tokens)
    assert all(torch.equal(recorded.weights[name], weight) for name, weight in run.weights.items())


def test_a_server_gets_one_request_a_prompt_with_a_seed_of_its_own(monkeypatch):
    asked = []

    def generate(prompts, n, generation_kwargs, **sampling):
        asked.append((prompts, n, generation_kwargs, sampling))
        return {"prompt_ids": prompts, "completion_ids": [[*prompts[0], i] for i in range(n)], "logprobs": [[0.0]] * n}

    settings = {"logprobs_mode": "processed_logprobs", "max_model_len": 64}
    client = SimpleNamespace(
        generate=generate,
        get_server_info=lambda: {"model_config": settings},
        get_sequence_logprobs=lambda prompts, *_: {"actual_logprobs": [[[-0.5]] * (len(p) - 1) for p in prompts]},
    )
    accelerator, model = SimpleNamespace(is_main_process=True, device=torch.device("cuda")), torch.nn.Linear(1, 1)
    monkeypatch.setattr(VLLMGeneration, "_init_vllm", lambda self: setattr(self, "vllm_client", client))
    monkeypatch.setattr(VLLMGeneration, "sync_weights", lambda self: asked.append("weights"))
    monkeypatch.setattr("trl.generation.vllm_generation.DistributedBackend", lambda _: None)
    own = {"model": model, "accelerator": accelerator, "processing_class": None, "mode": "server"}
    for wrong in (("logprobs_mode", "raw_logprobs"), ("max_model_len", 63)):
        with pytest.MonkeyPatch.context() as patched, pytest.raises(UserError, match=r"server: .* at least 64$"):
            patched.setitem(settings, *wrong)
            SeededGeneration("float32", **own, max_model_length=64)
    generation = SeededGeneration("float32", **own, max_model_length=64)
    generation.probe, generation.seed_of, generation.stop_ids = [[1, 2, 3]], lambda number: 100 + number, [7, 9]
    generation.sync_weights()
    served = generation.vllm_client
    answer = served.generate(prompts=[[5], [6]], n=4, generation_kwargs={"min_tokens": 1}, temperature=1.0)
    assert asked[0] == "weights" and served.get_sequence_logprobs is client.get_sequence_logprobs
    seeds = {tuple(prompts[0]): kwargs for prompts, _, kwargs, _ in asked[1:]}
    ends = {"min_tokens": 1, "stop_token_ids": [7, 9]}
    assert seeds == {(5,): {**ends, "seed": 100}, (6,): {**ends, "seed": 104}}
    assert answer["completion_ids"] == [[5, i] for i in range(4)] + [[6, i] for i in range(4)]
    assert [scores.tolist() for scores in generation.take_probe()] == [[-0.5, -0.5]]
    served.generate(prompts=[[5]], n=4, temperature=1.0)
    assert generation.take_probe() is None  # no weights came since


def test_trl_s_own_class_is_back_even_where_no_trainer_can_be_built():
    with pytest.raises(KeyError), seeded_generation("bfloat16"):
        assert grpo_trainer.VLLMGeneration.func is SeededGeneration
        raise KeyError
    assert grpo_trainer.VLLMGeneration is VLLMGeneration


def test_trl_is_told_of_vllm_what_the_recipe_says(tmp_path):
    args = [grpo_config(recipe(rollouts=r), 0, tmp_path, max_prompt_tokens=1524) for r in (BESIDE, SERVER)]
    assert [a.vllm_mode for a in args] == ["colocate", "server"] and args[1].vllm_server_base_url == "http://a:1"
    assert [a.vllm_max_model_length for a in args] == [1536] * 2 and args[0].vllm_gpu_memory_utilization == 0.4
    told = [getattr(args[0], f"vllm_importance_sampling_{name}") for name in ("mode", "clip_min", "clip_max")]
    assert told == ["token_mask", 0.5, 2.0]


@pytest.mark.parametrize(
    ("rollouts", "before", "after"), [(BESIDE, "1", "0"), (BESIDE, None, None), (SERVER, "1", "1")]
)
def test_a_vllm_in_the_training_s_own_process_replaces_no_operation_of_the_trainer(
    monkeypatch, rollouts, before, after
):
    def stop():
        raise KeyboardInterrupt

    if before is None:
        monkeypatch.delenv("VLLM_BATCH_INVARIANT", raising=False)
    else:
        monkeypatch.setenv("VLLM_BATCH_INVARIANT", before)
    monkeypatch.setattr("ict_core.process.vllm_environment.set_environment", stop)
    with pytest.raises(KeyboardInterrupt):
        build_trainer(SimpleNamespace(training=recipe(rollouts=rollouts)), None, None)
    assert os.environ.get("VLLM_BATCH_INVARIANT") == after


@pytest.mark.parametrize("given", [{}, {"MASTER_PORT": "4321"}, {"WORLD_SIZE": "2"}])
def test_trainings_beside_each_other_take_ports_of_their_own(monkeypatch, given):
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


@pytest.mark.parametrize("wrong", [0.0, 0.2, float("nan")])
def test_weights_that_differ_stop_the_run_with_step_difference_and_bound(tiny_checkpoint, wrong):
    model, prompts = AutoModelForCausalLM.from_pretrained(tiny_checkpoint).eval(), [[9, 8, 7, 6], [5, 4]]
    with torch.no_grad():
        logits = [model(torch.tensor([prompt])).logits[0].double() for prompt in prompts]
    own = [z.log_softmax(-1)[torch.arange(len(p) - 1), p[1:]] for z, p in zip(logits, prompts, strict=True)]
    accelerator = SimpleNamespace(device=torch.device("cpu"), gather=lambda t: t, autocast=torch.no_grad)

    def check(probed):
        vllm = SimpleNamespace(probe=prompts, take_probe=lambda: probed)
        return weight_difference(vllm, accelerator, model, bound=0.1, step=3)

    if wrong == 0:
        assert check(own) == pytest.approx(0, abs=1e-5)
        assert check([own[0] + 0.1, own[1]]) == pytest.approx(0.075, abs=1e-4)  # three tokens of four
        assert check(None) == 0  # another rank's vLLM was asked
    else:
        with pytest.raises(UserError, match=r"step 3: .* 2 fixed .*probe_bound"):
            check([own[0] + wrong, own[1] + wrong])
