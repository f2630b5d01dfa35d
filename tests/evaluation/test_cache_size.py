"""How much memory vLLM is given on a CPU: for all requests in flight, within bounds."""

import pytest
from transformers import LlamaConfig

pytest.importorskip("vllm", reason="vLLM is not installed")


@pytest.mark.slow
def test_the_cache_grows_with_the_model_up_to_four_gibibytes(tmp_path, tiny_checkpoint):
    from ict_core.evaluation.vllm_engine import cache_gib

    assert cache_gib(tiny_checkpoint, 160, "float32") == 1
    LlamaConfig(hidden_size=576, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3).save_pretrained(
        tmp_path
    )
    # 2 x 30 layers x 3 heads x 64 numbers of 4 bytes a token, of 1,024 sequences
    assert cache_gib(tmp_path, 45, "float32") == 2
    assert cache_gib(tmp_path, 300, "float32") == 4
    assert cache_gib(tmp_path, 45, "bfloat16") == 1 + (1024 * 45 * 23040 > 2**30)
