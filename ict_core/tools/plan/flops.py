"""FLOPs of the passes of a transformer: two for each entry of a matrix and token, and attention's own products.

A backward pass takes twice a forward one (once for the activations, once for the weights): Kaplan et al.,
arXiv:2001.08361, section 2.1.
"""

from ict_core.config.models import Architecture
from ict_core.tools.plan.parameters import head_matrix, layer_matrices


def layers_forward(a: Architecture, sequences: float, width: float, tokens: float | None = None) -> float:
    """A forward pass of all layers, without embeddings and head.

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
    """The LM head over some tokens."""
    return 2 * head_matrix(a) * tokens


def decode(a: Architecture, sequences: float, prompt: float, answer: float) -> float:
    """All products of sampling: the prompts' prefill, then each token's layers and head."""
    return layers_forward(a, sequences, prompt + answer) + head_forward(a, sequences * answer)
