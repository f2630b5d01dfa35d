"""Parameters and FLOPs of a transformer of Qwen2's architecture (arXiv:2407.10671).

A forward pass takes two FLOPs for each entry of a matrix and token, and attention's own products; a backward pass takes
twice a forward one (once for the activations, once for the weights): Kaplan et al., arXiv:2001.08361, section 2.1.
"""

from ict_core.config import Architecture, Dtype, Model

BYTES: dict[Dtype, int] = {"bfloat16": 2, "float32": 4}
"""Of one number."""
FLOAT32 = BYTES["float32"]


def layer_matrices(a: Architecture) -> int:
    """Entries of the matrices of one layer: queries and output, keys and values, gate, up and down."""
    return 2 * a.hidden_size**2 + 2 * a.hidden_size * _kv_features(a) + 3 * a.hidden_size * a.intermediate_size


def head_matrix(a: Architecture) -> int:
    """Entries of the LM head, as many as of the embeddings."""
    return a.vocab_size * a.hidden_size


def parameters(a: Architecture, tied: bool) -> int:
    """All parameters: matrices, biases of queries, keys and values, norms, embeddings, and a head unless `tied`."""
    vectors = a.hidden_size + 2 * _kv_features(a) + 2 * a.hidden_size  # biases, two norms
    return a.layers * (layer_matrices(a) + vectors) + a.hidden_size + head_matrix(a) * (1 if tied else 2)


def weight_bytes(model: Model) -> int:
    """All weights in the model's dtype."""
    return parameters(model.architecture, model.tied_embeddings) * BYTES[model.dtype]


def kv_bytes_per_token(a: Architecture, dtype: Dtype) -> int:
    """Bytes of the keys and values that decoding keeps of one token."""
    return 2 * a.layers * _kv_features(a) * BYTES[dtype]


def _kv_features(a: Architecture) -> int:
    return a.kv_heads * a.head_size


def layers_forward(a: Architecture, sequences: float, width: float, tokens: float | None = None) -> float:
    """FLOPs of all layers, without embeddings and head.

    Causal attention looks at half of the width on average: scores and their sum over values take
    2 * 2 * hidden * width / 2 a token and layer.

    Args:
        sequences: rows of the batch, over which attention looks.
        width: tokens a row, padding included.
        tokens: that the matrices see; absent: all of them.
    """
    seen = sequences * width
    return a.layers * (2 * layer_matrices(a) * (seen if tokens is None else tokens) + 2 * a.hidden_size * width * seen)


def head_forward(a: Architecture, tokens: float) -> float:
    """FLOPs of the LM head over some tokens."""
    return 2 * head_matrix(a) * tokens


def decode(a: Architecture, sequences: float, prompt: float, answer: float) -> float:
    """FLOPs of sampling: the prompts' prefill, then each token's layers and head."""
    return layers_forward(a, sequences, prompt + answer) + head_forward(a, sequences * answer)
