"""The lean decoding loop against the model's own distributions in float64, and what keeps to transformers' loop."""

import pytest
import torch
import transformers
from scipy import stats
from torch import nn

from ict_core.training.fast import sampling
from ict_core.training.fast.sampling import draw, sample_lean

VOCABULARY, PAD, MOST = 40, 3, 24
STOPS = [0, 7]  # so that a random model's responses are of many lengths
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
SIZES |= {"num_attention_heads": 4, "max_position_embeddings": 64, "pad_token_id": PAD, "eos_token_id": STOPS}
LLAMA, MISTRAL = {"family": "Llama"}, {"family": "Mistral"}
LONG = {"rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


def random_model(kv_heads=4, tied=True, family="Qwen2", **more):
    """Every weight random, biases and norms too, so that its distributions are far from uniform."""
    torch.manual_seed(0)
    config, model = (getattr(transformers, f"{family}{kind}") for kind in ("Config", "ForCausalLM"))
    built = model(config(**SIZES, num_key_value_heads=kv_heads, tie_word_embeddings=tied, **more)).eval()
    for weight in built.parameters():
        nn.init.normal_(weight, std=0.6)
    return built


def prompts(rows=12):
    """Prompts of 2 to 9 tokens on the left of nothing but padding, each two rows long but the last."""
    lengths = [2 + row // 2 for row in range(rows)]
    ids = torch.full((rows, max(lengths)), PAD)
    mask = torch.zeros_like(ids)
    for row, length in enumerate(lengths):
        numbers = torch.randint(8, VOCABULARY, (length,), generator=torch.Generator().manual_seed(length))
        ids[row, -length:], mask[row, -length:] = numbers, 1
    return ids, mask


def generated(model, ids, mask, seed=0, temperature=1.0, **more):
    torch.manual_seed(seed)
    settings = {"do_sample": True, "top_k": 0, "top_p": 1.0, "max_new_tokens": MOST} | more
    config = transformers.GenerationConfig(temperature=temperature, pad_token_id=PAD, eos_token_id=STOPS, **settings)
    return model.generate(input_ids=ids, attention_mask=mask, generation_config=config)[:, ids.size(1) :]


def responses(batch):
    """Each row up to its first stop token; what lies behind must be padding."""
    found = []
    for row in batch.tolist():
        length = next((at + 1 for at, token in enumerate(row) if token in STOPS), len(row))
        assert set(row[length:]) <= {PAD}
        found.append(row[:length])
    return found


@pytest.mark.parametrize(
    "kv_heads, tied, temperature, family",
    [
        (4, True, 1.0, {}),
        (2, False, 0.7, {}),
        (2, True, 1.0, LLAMA),
        (2, False, 1.0, LLAMA | {"attention_bias": False, "head_dim": 16, "rms_norm_eps": 1e-5}),
        (4, True, 0.7, LLAMA | {"rope_parameters": LONG | {"original_max_position_embeddings": 8}}),
        (2, False, 1.0, MISTRAL | {"sliding_window": None}),
    ],
)
def test_each_token_is_where_the_models_own_distribution_has_the_uniform_number(kv_heads, tied, temperature, family):
    model = random_model(kv_heads, tied, **family)
    sample_lean(model)
    assert "generate" in vars(model)
    ids, mask = prompts()
    batch = responses(generated(model, ids, mask, temperature=temperature))
    torch.manual_seed(0)
    uniform = torch.rand(len(ids), MOST, dtype=torch.float64)
    exact = model.double()
    for prompt, on, response, numbers in zip(ids, mask.bool(), batch, uniform, strict=True):
        tokens = torch.tensor(response)
        alone = torch.cat([prompt[on], tokens])[None]
        probs = (exact(input_ids=alone).logits[0, -len(response) - 1 : -1] / temperature).softmax(-1)
        upper = probs.cumsum(-1).gather(1, tokens[:, None])
        lower = upper - probs.gather(1, tokens[:, None])
        at = numbers[: len(response), None]
        assert ((lower - 1e-5 < at) & (at < upper + 1e-5)).all()
    lengths = set(map(len, batch))
    assert len(lengths) > 2 and max(lengths) >= 1.5 * min(lengths)  # rows have left the batch at several times


def test_equal_seeds_give_equal_tokens_and_a_rollout_depends_on_no_other():
    model = random_model()
    sample_lean(model)
    ids, mask = prompts()
    one, again, other = (generated(model, ids, mask, seed) for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert responses(one) != responses(other)
    assert responses(generated(model, ids[:4], mask[:4])) == responses(one)[:4]


def test_tokens_are_distributed_as_the_softmax_and_rollouts_of_a_prompt_are_independent():
    model = random_model()
    sample_lean(model)
    ids, mask = prompts(1)
    rows = 4000
    tokens = generated(model, ids.expand(rows, -1), mask.expand(rows, -1), max_new_tokens=1).flatten()
    probs = model.double()(input_ids=ids).logits[0, -1].softmax(-1).detach()
    often = probs * rows >= 5
    counts = torch.bincount(tokens, minlength=VOCABULARY)
    observed = [*counts[often].tolist(), counts[~often].sum().item()]
    expected = [*probs[often].tolist(), probs[~often].sum().item()]
    assert stats.chisquare(observed, [p * rows for p in expected]).pvalue > 0.001
    equal = (tokens[::2] == tokens[1::2]).sum().item()
    assert stats.binomtest(equal, rows // 2, probs.square().sum().item()).pvalue > 0.001


def test_draw_takes_the_token_whose_share_holds_the_number_and_none_of_probability_zero():
    probs = torch.tensor([[0.0, 0.25, 0.0, 0.5, 0.25, 0.0]])
    numbers = {0.0: 1, 0.2499: 1, 0.25: 3, 0.7499: 3, 0.75: 4, 1 - 2**-53: 4}
    drawn = draw(probs.expand(len(numbers), -1), torch.tensor([*numbers], dtype=torch.float64)[:, None])
    assert drawn.tolist() == [*numbers.values()]


@pytest.mark.parametrize(
    "model",
    [
        random_model(family="Qwen3"),
        random_model().to(torch.bfloat16),
        random_model(use_sliding_window=True, max_window_layers=1),
        random_model(**MISTRAL, sliding_window=5),
        random_model(rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}),
        random_model(**LLAMA, attention_bias=True),
        random_model(**LLAMA, mlp_bias=True),
    ],
    ids=["another architecture", "bfloat16", "window", "Mistral's", "changing positions", "output bias", "MLP bias"],
)
def test_a_model_that_the_loop_does_not_know_keeps_its_own_way(model):
    sample_lean(model)
    assert "generate" not in vars(model)


def test_sharded_weights_go_transformers_own_way(monkeypatch):
    model = random_model()
    ids, mask = prompts()
    own = generated(model, ids, mask)
    sample_lean(model)
    assert responses(generated(model, ids, mask)) != responses(own)
    monkeypatch.setattr(sampling, "DTensor", nn.Parameter)  # stands for weights that lie on several ranks
    assert torch.equal(generated(model, ids, mask), own)


def test_another_way_of_sampling_is_refused():
    model = random_model()
    sample_lean(model)
    for asked in ({"top_p": 0.9}, {"top_k": 5}, {"do_sample": False}):
        with pytest.raises(ValueError, match="only sampling from the whole"):
            generated(model, *prompts(), **asked)
