"""One arithmetic step, written directly or worked digit by digit, and the forks between the two."""

import itertools
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Operation = Literal["+", "-", "*"]

_COMPUTE = {"+": operator.add, "-": operator.sub, "*": operator.mul}

# A step begins a solution or follows ". "; what is inside a worked step follows ":" or ",".
_FORK = re.compile(r"(?:^|(?<=\.)) \d+[-+*]\d+([=:])")


@dataclass(frozen=True)
class Step:
    """``left operation right`` over non-negative integers; a product has a one-digit right factor."""

    left: int
    operation: Operation
    right: int

    def __post_init__(self) -> None:
        if self.left < 0 or self.right < 0 or self.result < 0:
            raise ValueError(f"{self.expression}: operands and result must not be negative")
        if self.operation == "*" and self.right > 9:
            raise ValueError(f"{self.expression}: the right factor must have one digit")

    @property
    def expression(self) -> str:
        return f"{self.left}{self.operation}{self.right}"

    @property
    def result(self) -> int:
        return _COMPUTE[self.operation](self.left, self.right)

    def direct(self, written: int | None = None) -> str:
        """For example ``47+38=85.``, or with another number ``written`` in place of the result."""
        return f"{self.expression}={self.result if written is None else written}."

    def slip(self, rng: np.random.Generator) -> int:
        """The result with one digit wrong: any of its digits, each other digit equally likely, no zero in front."""
        digits = list(str(self.result))
        place = int(rng.integers(len(digits)))
        others = [d for d in "0123456789" if d != digits[place] and (d != "0" or place or len(digits) == 1)]
        digits[place] = others[rng.integers(len(others))]
        return int("".join(digits))

    def worked(self) -> str:
        """From the units up, with carries: ``47+38:7+8=15,4+3+1=8;85.``"""
        product = self.operation == "*"
        sign = "-" if self.operation == "-" else "+"  # of a carry
        parts, carry = [], 0
        for place in range(len(str(self.left if product else max(self.left, self.right)))):
            a = self.left // 10**place % 10
            b = self.right if product else self.right // 10**place % 10
            value = _COMPUTE[sign](_COMPUTE[self.operation](a, b), carry)
            lift = 10 if value < 0 else 0
            parts.append(f"{a + lift}{self.operation}{b}{f'{sign}{carry}' if carry else ''}={value + lift}")
            carry = 1 if lift else value // 10
        return f"{self.expression}:{','.join(parts)};{self.result}."


def fork_offsets(completion: str) -> list[int]:
    """Character offsets of the decision points (``=`` or ``:`` after a step's expression) in a completion."""
    return [match.start(1) for match in _FORK.finditer(completion)]


def token_spans(tokenizer: "PreTrainedTokenizerBase", ids: list[int]) -> tuple[str, list[range]]:
    """The text of a response, special tokens included, and the range of each token's characters in it."""
    texts = [str(text) for text in tokenizer.batch_decode([[token] for token in ids])] if ids else []
    ends = itertools.accumulate(map(len, texts), initial=0)
    return "".join(texts), [range(*bounds) for bounds in itertools.pairwise(ends)]


def fork_tokens(tokenizer: "PreTrainedTokenizerBase", ids: list[int]) -> list[bool]:
    """Whether each token of a response decides between a direct and a worked step (``=`` or ``:``)."""
    text, spans = token_spans(tokenizer, ids)
    forks = set(fork_offsets(text))
    return [bool(span) and span.start in forks for span in spans]
