"""What the library replaces in TRL and transformers is still needed: where a test fails, give up the replacement."""

import inspect
from dataclasses import fields

from transformers.modeling_outputs import CausalLMOutputWithPast
from trl import GRPOConfig, GRPOTrainer
from trl.generation.vllm_generation import VLLMGeneration


def test_trl_has_no_option_for_the_dtype_or_the_seeds_of_its_engine():
    options = {*inspect.signature(VLLMGeneration).parameters, *(field.name for field in fields(GRPOConfig))}
    of_vllm = {name for name in options if "dtype" in name or "engine_kwargs" in name or name.startswith("vllm_seed")}
    assert of_vllm == set()
    assert {"seeds", "seed"}.isdisjoint(inspect.signature(VLLMGeneration.generate).parameters)


def test_trl_passes_no_loop_of_ones_own_to_generate():
    assert "custom_generate" not in inspect.getsource(inspect.getmodule(GRPOTrainer))


def test_a_causal_model_returns_no_final_states_without_their_logits():
    """Nor does it take states to read log-probabilities from, which a wrapper of ranks would have to see."""
    assert {field.name for field in fields(CausalLMOutputWithPast)} == {
        *("loss", "logits", "past_key_values", "hidden_states", "attentions")
    }
