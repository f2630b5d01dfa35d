"""One arithmetic step, written directly or worked digit by digit, and the forks between the two."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Operation = Literal["+", "-", "*"]

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
        if self.operation == "+":
            return self.left + self.right
        if self.operation == "-":
            return self.left - self.right
        return self.left * self.right

    def direct(self) -> str:
        """For example ``47+38=85.``"""
        return f"{self.expression}={self.result}."

    def worked(self) -> str:
        """From the units up, with carries: ``47+38:7+8=15,4+3+1=8;85.``"""
        parts, carry = [], 0
        left, right = str(self.left)[::-1], str(self.right)[::-1]
        for place in range(len(left) if self.operation == "*" else max(len(left), len(right))):
            a = int(left[place]) if place < len(left) else 0
            b = int(right[place]) if place < len(right) else 0
            if self.operation == "*":
                text, value = _times(a, self.right, carry)
                carry = value // 10
            elif self.operation == "+":
                text, value = _plus(a, b, carry)
                carry = value // 10
            else:
                text, carry = _minus(a, b, carry)
            parts.append(text)
        return f"{self.expression}:{','.join(parts)};{self.result}."


def _plus(a: int, b: int, carry: int) -> tuple[str, int]:
    value = a + b + carry
    return f"{a}+{b}{'+1' if carry else ''}={value}", value


def _minus(a: int, b: int, borrow: int) -> tuple[str, int]:
    short = a - b - borrow < 0
    lifted = a + 10 if short else a
    return f"{lifted}-{b}{'-1' if borrow else ''}={lifted - b - borrow}", int(short)


def _times(a: int, factor: int, carry: int) -> tuple[str, int]:
    value = a * factor + carry
    return f"{a}*{factor}{f'+{carry}' if carry else ''}={value}", value


def fork_offsets(completion: str) -> list[int]:
    """Character offsets of the decision points (``=`` or ``:`` after a step's expression) in a completion."""
    return [match.start(1) for match in _FORK.finditer(completion)]


def fork_tokens(tokenizer: "PreTrainedTokenizerBase", ids: list[int]) -> list[bool]:
    """Whether each token of a response decides between a direct and a worked step (``=`` or ``:``)."""
    texts = [str(tokenizer.decode([token])) for token in ids]
    forks = set(fork_offsets("".join(texts)))
    marks, start = [], 0
    for text in texts:
        marks.append(bool(text) and start in forks)
        start += len(text)
    return marks
