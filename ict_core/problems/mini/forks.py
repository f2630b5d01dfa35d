"""The known decision points of the mini world as tokens."""

from transformers import PreTrainedTokenizerBase

from ict_core.problems.mini.arithmetic import fork_offsets


def fork_tokens(tokenizer: PreTrainedTokenizerBase, ids: list[int]) -> list[bool]:
    """Whether each token of a response decides between a direct and a worked step (``=`` or ``:``)."""
    texts = [str(tokenizer.decode([token])) for token in ids]
    forks = set(fork_offsets("".join(texts)))
    marks, start = [], 0
    for text in texts:
        marks.append(bool(text) and start in forks)
        start += len(text)
    return marks
