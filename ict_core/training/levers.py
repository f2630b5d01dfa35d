"""Which savings a packed training step uses."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Levers:
    """What makes a packed step cheaper, each on its own; the gradient is the same with any of them.

    Attributes:
        share: equal prefixes of a micro-batch (the prompt of a group) are computed once.
        skip: sequences without a kept token are left out, and without a KL term those of zero advantage.
        cut: a sequence ends at its last kept token.
        sparse: the LM head runs at the kept tokens only.
        one_pass: where a whole step is one micro-batch, its statistics and its loss have one backbone pass.
    """

    share: bool = True
    skip: bool = True
    cut: bool = True
    sparse: bool = True
    one_pass: bool = True
