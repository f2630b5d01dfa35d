"""What a model that accelerate shards (FSDP2) needs; here sharded over one rank."""

from types import SimpleNamespace

import pytest
import torch
from sharded_statistics import shard
from test_trainer import recipe
from torch.distributed.tensor import DTensor
from transformers import Qwen2Config, Qwen2ForCausalLM
from trl.generation.vllm_generation import VLLMGeneration

from ict_core.training import sharding
from ict_core.training.fast import packed_forward
from ict_core.training.fast.packed_forward import teach
from ict_core.training.fast.packing import pack
from ict_core.training.rollouts import SeededGeneration
from ict_core.training.run import grpo_config

IDS = torch.arange(1, 13).view(2, 6)
SIZES = {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2, "intermediate_size": 32}
SIZES |= {"num_attention_heads": 2, "num_key_value_heads": 1}


@pytest.fixture(scope="module", autouse=True)
def one_rank(tmp_path_factory):
    store = tmp_path_factory.mktemp("rank") / "store"
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.fixture(autouse=True)
def plugin_s_variable(monkeypatch):
    monkeypatch.setenv("FSDP_CPU_RAM_EFFICIENT_LOADING", "false")  # accelerate's plugin writes it


def model(tied):
    torch.manual_seed(0)
    made = Qwen2ForCausalLM(Qwen2Config(**SIZES, tie_word_embeddings=tied))
    teach(made, 1.0)
    return made


def log_probs(of):
    read = torch.ones(2, 3, dtype=torch.bool)
    layout = pack(IDS[:, :3], torch.ones(2, 3, dtype=torch.long), IDS[:, 3:], read)
    return of(packed=layout, state=layout.where[read], token=IDS[:, 3:][read])


def whole(of):
    return [name for name, parameter in of.named_parameters() if not isinstance(parameter, DTensor)]


def dense(of):
    return of(input_ids=IDS, use_cache=False).logits


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("passed", [dense, log_probs])
def test_vllm_gets_the_weights_from_shards_also_after_a_pass_without_a_gradient(monkeypatch, tied, passed):
    sharded = model(tied)
    shard(sharded, {})
    with torch.no_grad():
        passed(sharded)
    assert "model.norm.weight" in whole(sharded)
    monkeypatch.setattr(VLLMGeneration, "sync_weights", lambda self: transferred.append(whole(self.model)))
    generation, transferred = SeededGeneration.__new__(SeededGeneration), []
    generation.model, generation.accelerator = sharded, SimpleNamespace(device=torch.device("cuda"))
    generation.sync_weights()
    assert transferred == [[]]


@pytest.mark.parametrize("tied", [False, True])
def test_packed_passes_have_the_results_and_gradients_of_a_model_that_is_not_sharded(tied):
    alone, sharded = model(tied), model(tied)
    shard(sharded, {})
    expected, found = log_probs(alone), log_probs(sharded)
    torch.testing.assert_close(found, expected)
    expected.sum().backward()
    found.sum().backward()
    for (name, one), other in zip(alone.named_parameters(), sharded.parameters(), strict=True):
        torch.testing.assert_close(other.grad.full_tensor(), one.grad, msg=name)


def test_bfloat16_passes_of_a_sharded_model_return_float32_and_add_gradients_up_in_it(monkeypatch, tmp_path):
    monkeypatch.setattr(sharding, "is_sharded", lambda: True)
    monkeypatch.setattr(packed_forward, "fits", lambda _: False)  # as on a GPU
    monkeypatch.setenv("LOCAL_RANK", "3")
    arguments = grpo_config(recipe(precision="bfloat16"), 0, tmp_path)
    assert arguments.model_init_kwargs == {"device_map": {"": 3}}
    assert arguments.accelerator_config.gradient_accumulation_kwargs == {"sync_each_batch": True}
    sharded = model(False)
    shard(sharded, arguments.fsdp_plugin_args or {}, "bf16")
    sharded.set_requires_gradient_sync(False)  # which shows the gradients before they are sharded
    with torch.autocast("cpu", torch.bfloat16):
        assert dense(sharded).dtype == torch.float32
        log_probs_now = log_probs(sharded)
    assert log_probs_now.dtype == torch.float32
    log_probs_now.sum().backward()
    (group,) = sharded.model.layers[0]._get_fsdp_state()._fsdp_param_groups
    added = [parameter.unsharded_accumulated_grad for parameter in group.fsdp_params]
    assert {gradient.dtype for gradient in added} == {torch.float32}
    assert {parameter.unsharded_param.dtype for parameter in group.fsdp_params} == {torch.bfloat16}


def test_only_a_launcher_s_shards_on_gpus_change_trl_s_arguments(monkeypatch, tmp_path):
    plain = grpo_config(recipe(precision="bfloat16"), 0, tmp_path)
    assert plain.model_init_kwargs is plain.fsdp_plugin_args is None
    assert plain.accelerator_config.gradient_accumulation_kwargs is None
    found = []
    for gpu in (False, True):
        for launched in ("false", "true"):
            with monkeypatch.context() as patch:
                patch.setattr(torch.cuda, "is_available", lambda gpu=gpu: gpu)
                patch.setenv("ACCELERATE_USE_FSDP", launched)
                found.append(sharding.is_sharded())
    assert found == [False, False, False, True]
    monkeypatch.setattr(sharding, "is_sharded", lambda: True)
    assert grpo_config(recipe(precision="float32"), 0, tmp_path).fsdp_plugin_args is None
