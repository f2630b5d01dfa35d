"""What the library replaces in TRL, transformers, vLLM and torch is still needed: where a test fails, give it up.

A sixth, torch's matrix products with portable numerics (``process._products``), is a matter of time alone, which
``benchmarks/numerics.py`` measures.
"""

import inspect
import subprocess
import sys
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path

import pytest
from transformers.modeling_outputs import CausalLMOutputWithPast
from trl import GRPOConfig, GRPOTrainer
from trl.generation.vllm_generation import VLLMGeneration

ROOTS = """
from ict_core.process import numerics
numerics.use("portable")
import numpy, torch
x = torch.arange(1, 2000).float()
print((x.sqrt().numpy() != numpy.sqrt(x.numpy())).sum())
"""


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


def test_torch_s_roots_are_not_the_nearest_numbers():
    """As ``process._roots`` has them, which ``numerics.check`` puts in their place."""
    done = subprocess.run([sys.executable, "-c", ROOTS], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 0


def test_vllm_asks_torch_for_the_instructions_of_the_cpu():
    """In whose place ``numerics.limit_vllm`` answers, as vLLM reads no variable for it."""
    if (found := find_spec("vllm")) is None:
        pytest.skip("vLLM is not installed")
    platform = (Path(found.origin).parent / "platforms/cpu.py").read_text()
    assert "torch.cpu._is_avx512_supported()" in platform
