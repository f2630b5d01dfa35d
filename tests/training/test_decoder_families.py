"""Decoders of many families, tiny and random: packed passes and statistics against the model's own padded logits."""

import shutil

import pytest
import torch
import transformers
from datasets import Dataset
from test_passes import PROBLEMS, RULES, T, gradients, rollouts
from test_trainer import GRPO, built, recipe
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

from ict_core import SelectiveGRPOTrainer
from ict_core.errors import UserError
from ict_core.models.head import lm_head
from ict_core.tokens.streaming import token_statistics
from ict_core.training.fast.packed_forward import add_packed_forward, check_family
from ict_core.training.fast.packing import pack
from ict_core.training.passes import check_padding
from ict_core.training.run import grpo_config

SIZES = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
SIZES |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
SIZES |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "attn_implementation": "sdpa"}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
WINDOW = {"sliding_window": 3}
LATENT = {"num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16}  # keys and values of a common latent
LATENT |= {"qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8}
ROUTED = {"first_k_dense_replace": 1, "n_routed_experts": 8, "n_group": 1, "topk_group": 1, "num_experts_per_tok": 2}
FAMILIES = {  # the name in transformers and what differs from SIZES
    "Llama": {},
    "Llama, tied": {"tie_word_embeddings": True},
    "Qwen2": {},
    "Qwen2, a window in one layer": WINDOW | {"use_sliding_window": True, "max_window_layers": 1},
    "Qwen3": {"head_dim": 8},
    "Qwen3Moe": EXPERTS | {"head_dim": 8},
    "SmolLM3": {},
    "Mistral": {"sliding_window": None},
    "Mistral, window": WINDOW,
    "Gemma": {"head_dim": 8},
    "Gemma2": WINDOW | {"head_dim": 8, "final_logit_softcapping": 2.0, "attn_logit_softcapping": None},
    "Phi3": {},
    "Phi3, window": WINDOW,
    "Olmo2": {},
    "Olmo3": WINDOW,
    "GPTNeoX": {},
    "GPT2": dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0.0),
    "Starcoder2": {},
    "StableLm": {},
    "Glm4": {"head_dim": 8},
    "Granite": {"logits_scaling": 4.0, "embedding_multiplier": 3.0, "residual_multiplier": 0.5},
    "Cohere": {"logit_scale": 0.3},
    "Nemotron": {},
    "MiniCPM3": LATENT,
    "DeepseekV3": LATENT | ROUTED | {"moe_intermediate_size": 16},
}
TEMPERATURE, GROUP = 0.7, 4
REFUSED = {
    "Phi": ({}, "head has a bias"),
    "Gemma2": ({"attn_logit_softcapping": 5.0}, "attn_logit_softcapping"),
    "Qwen3Next": ({}, "linear_attention"),
    "Granite": ({"attention_dropout": 0.1}, "attention_dropout above 0"),
    "GPTBigCode": ({}, "attn_pdrop, embd_pdrop, resid_pdrop above 0"),
    "Falcon": ({}, "RuntimeError"),  # has an attention of its own, past transformers' interface
}


def random_model(name: str, more: dict) -> nn.Module:
    family = name.split(",")[0]
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**SIZES | more)
    model = AutoModelForCausalLM.from_config(config).eval()
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.2)
    return model


def own_log_probs(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """ln p of all tokens at the response positions, (B, T, V), each sequence by itself and without padding."""
    rows = []
    for ids, on, answer in zip(batch["prompt_ids"], batch["prompt_mask"], batch["completion_ids"], strict=True):
        whole = torch.cat([ids[on.bool()], answer])[None]
        rows.append(model(input_ids=whole, use_cache=False).logits[0, -T - 1 : -1])
    return (torch.stack(rows).float() / TEMPERATURE).log_softmax(-1)


@pytest.mark.parametrize("name", FAMILIES)
def test_packed_passes_give_what_the_model_s_own_forward_pass_gives(name):
    batch, model = rollouts(kl=False, vocabulary=64), random_model(name, FAMILIES[name])
    read, ids = batch["completion_mask"].bool(), batch["completion_ids"]
    weights = torch.randn(ids.shape, generator=torch.Generator().manual_seed(1)) * read
    full = own_log_probs(model, batch)
    expected = full.gather(-1, ids[..., None]).squeeze(-1)
    (expected * weights).sum().backward()
    gradients = {key: p.grad.clone() for key, p in model.named_parameters() if p.grad is not None}

    model.zero_grad()
    add_packed_forward(model, TEMPERATURE)
    layout = pack(batch["prompt_ids"], batch["prompt_mask"], ids, read)
    found = model(packed=layout, state=layout.where[read], token=ids[read])
    assert found.detach() == pytest.approx(expected[read].detach(), abs=2e-5)
    (found * weights[read]).sum().backward()
    largest = max(gradient.abs().max() for gradient in gradients.values())
    for key, parameter in model.named_parameters():
        if key in gradients:
            assert (parameter.grad - gradients[key]).abs().max() <= 1e-5 * largest, key

    layout = pack(batch["prompt_ids"], batch["prompt_mask"], ids, read)
    with torch.no_grad():
        states = model(packed=layout)
        head = lm_head(model)
        tokens = token_statistics(states, head, layout.where, ids, group_size=GROUP, temperature=TEMPERATURE)
    entropy = -(full.exp() * full).sum(-1)
    assert tokens.logprob[read] == pytest.approx(expected[read].detach(), abs=2e-5)
    assert tokens.h1[read] == pytest.approx(entropy[read].detach(), abs=2e-5)


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("name", ["StableLm", "Mistral, window"])
def test_a_layer_that_is_computed_again_for_its_gradient_sees_the_same_rows(name, reentrant):
    batch, found = rollouts(kl=False, vocabulary=64), []
    read, ids = batch["completion_mask"].bool(), batch["completion_ids"]
    for again in (False, True):
        model = random_model(name, FAMILIES[name]).train()
        add_packed_forward(model, TEMPERATURE)
        if again:
            model.gradient_checkpointing_enable({"use_reentrant": reentrant})
            model.enable_input_require_grads()
        layout = pack(batch["prompt_ids"], batch["prompt_mask"], ids, read)
        log_probs = model(packed=layout, state=layout.where[read], token=ids[read])
        (log_probs * torch.linspace(-1, 1, len(log_probs))).sum().backward()
        found.append([p.grad for p in model.parameters()])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


@pytest.mark.parametrize("name", ["Llama, tied", "Gemma2"])
def test_a_step_of_such_a_model_is_that_of_trl_s_dense_passes(name, tiny_checkpoint, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(tiny_checkpoint, checkpoint)
    random_model(name, FAMILIES[name] | {"vocab_size": 352, "max_position_embeddings": 160}).save_pretrained(checkpoint)
    steps = []
    for passes in ("dense", "packed"):
        training = recipe(temperature=0.8, passes=passes, token_sample_groups=1)
        trainer, _ = built(checkpoint, PROBLEMS, training, GRPO, tmp_path / passes)
        steps.append(gradients(trainer, RULES["ict"], rollouts(kl=False), micro_batches=2))
    (losses, expected, inputs), (found_losses, found, found_inputs) = steps
    assert torch.equal(found_inputs["weights 0"], inputs["weights 0"]) and 0 < inputs["weights 0"].float().mean() < 0.5
    assert found_losses == pytest.approx(losses, abs=1e-5)
    largest = max(gradient.abs().max().item() for gradient in expected.values())
    assert [key for key, own in expected.items() if (found[key] - own).abs().max() > 1e-5 * largest] == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_packed_passes_would_get_wrong_is_refused(name):
    more, reason = REFUSED[name]
    with pytest.raises(UserError, match=reason):
        add_packed_forward(random_model(name, more), 1.0)


def test_a_configuration_is_tried_small_before_anything_is_trained():
    full = transformers.LlamaConfig(hidden_size=256, num_hidden_layers=40, vocab_size=200_000, pad_token_id=150_000)
    check_family(full)
    assert (full.num_hidden_layers, full.vocab_size) == (40, 200_000)
    check_family(transformers.Qwen2Config(use_sliding_window=True, hidden_size=256, max_window_layers=20))
    with pytest.raises(UserError, match=r"qwen3_next: .*linear_attention.*passes: dense"):
        check_family(transformers.Qwen3NextConfig())


@pytest.mark.parametrize(
    "family", ["Bloom", "GptOss", "Mamba", "FalconH1", "Bamba", "Rwkv", "Zamba", "Gemma3nText", "ModernBertDecoder"]
)
def test_a_family_that_cannot_be_packed_is_refused_in_one_line(family):
    with pytest.raises(UserError, match=r"^training.passes: packed .*passes: dense$"):
        check_family(getattr(transformers, f"{family}Config")())


def test_a_model_whose_packed_pass_differs_is_refused_with_the_difference():
    model = random_model("Llama", {})
    layer = model.model.layers[0].self_attn
    own = layer.forward
    layer.forward = lambda *args, **kwargs: tuple(  # reads what packed rows have in another order: the length of a row
        part if part is None else part * kwargs["hidden_states"].size(1) for part in own(*args, **kwargs)
    )
    with pytest.raises(UserError, match=r"differ by .* nats.*: dense"):
        add_packed_forward(model, 1.0)


def test_a_balancing_loss_of_experts_is_refused_and_the_recipe_has_none(tiny_checkpoint, tmp_path):
    model, tokenizer = random_model("Qwen3Moe", FAMILIES["Qwen3Moe"]), AutoTokenizer.from_pretrained(tiny_checkpoint)
    arguments = grpo_config(recipe(), 0, tmp_path)
    assert arguments.router_aux_loss_coef == 0.0
    arguments.router_aux_loss_coef = None  # TRL's default: the model's own
    with pytest.raises(UserError, match="set router_aux_loss_coef=0.0"):
        own_script(model, tokenizer, arguments)


def test_a_head_in_float32_is_refused_by_packed_passes_which_round_it(tiny_checkpoint, tmp_path):
    tokenizer, arguments = AutoTokenizer.from_pretrained(tiny_checkpoint), grpo_config(recipe(), 0, tmp_path)
    arguments.cast_lm_head_to_fp32 = True
    with pytest.raises(UserError, match=r"cast_lm_head_to_fp32=True .*dense"):
        own_script(random_model("Llama", {}), tokenizer, arguments, passes="packed")


def own_script(model: nn.Module, tokenizer, arguments, **more):
    prompts = Dataset.from_dict({"prompt": ["1 + 1"] * 8})
    options = {"processing_class": tokenizer, "selection": "grpo", **more}
    SelectiveGRPOTrainer(model, lambda completions, **_: [0.0] * len(completions), arguments, prompts, **options)


def test_dense_passes_refuse_a_model_that_counts_positions_from_its_padding(tiny_checkpoint, tmp_path):
    tokenizer, arguments = AutoTokenizer.from_pretrained(tiny_checkpoint), grpo_config(recipe(), 0, tmp_path)
    with pytest.raises(UserError, match=r"passes: dense .*gpt2: .* nats behind padding.*: packed"):
        own_script(random_model("GPT2", FAMILIES["GPT2"]), tokenizer, arguments)
    for name in ("Llama", "Gemma2", "Phi", "Qwen3Next"):
        check_padding(random_model(name, FAMILIES.get(name, {})), 0)
