"""How many parameters a model of Qwen2's architecture has (arXiv:2407.10671), and what they take."""

from ict_core.config.models import Architecture, Dtype

BYTES: dict[Dtype, int] = {"bfloat16": 2, "float32": 4}
"""Of one number."""


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


def kv_bytes_per_token(a: Architecture, dtype: Dtype) -> int:
    """Bytes of the keys and values that decoding keeps of one token."""
    return 2 * a.layers * _kv_features(a) * BYTES[dtype]


def _kv_features(a: Architecture) -> int:
    return a.kv_heads * a.head_size
