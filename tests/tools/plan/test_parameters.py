"""Parameter counts against the published checkpoints and against transformers' own models."""

import pytest

from ict_core.config import Architecture
from ict_core.tools.plan import parameters
from ict_core.tools.plan._costs import kv_bytes_per_token, layer_matrices

TINY = Architecture(hidden_size=4, layers=2, heads=2, kv_heads=1, intermediate_size=3, vocab_size=32, max_positions=16)


@pytest.mark.parametrize(
    ("model", "count"),
    [("qwen2.5-0.5b", 494_032_768), ("qwen2.5-1.5b", 1_543_714_304), ("qwen2.5-7b", 7_615_616_512)],
)
def test_the_published_models_have_their_published_numbers(paper, model, count):
    assert parameters(paper.models[model].architecture, paper.models[model].tied_embeddings) == count


def test_a_tiny_model_by_hand():
    # head size 2: queries and output 2 * 16, keys and values 2 * 4 * 2, gate, up and down 3 * 12
    assert layer_matrices(TINY) == 32 + 16 + 36
    # a layer's biases 4 + 2 + 2 and norms 2 * 4; the final norm 4; embeddings 32 * 4
    assert parameters(TINY, tied=True) == 2 * (84 + 8 + 8) + 4 + 128
    assert parameters(TINY, tied=False) == parameters(TINY, tied=True) + 128
    assert kv_bytes_per_token(TINY, "bfloat16") == 2 * 2 * 2 * 2  # keys and values, layers, features, bytes


def test_the_mini_models_are_counted_as_transformers_counts_them(mini):
    pytest.importorskip("transformers")
    from transformers import Qwen2Config, Qwen2ForCausalLM

    for model in mini.models.values():
        a = model.architecture
        built = Qwen2ForCausalLM(
            Qwen2Config(
                hidden_size=a.hidden_size,
                intermediate_size=a.intermediate_size,
                num_hidden_layers=a.layers,
                num_attention_heads=a.heads,
                num_key_value_heads=a.kv_heads,
                vocab_size=a.vocab_size,
                tie_word_embeddings=model.tied_embeddings,
            )
        )
        assert parameters(a, model.tied_embeddings) == sum(p.numel() for p in built.parameters())
