"""Groups of made-up tokens, with no model behind them."""

import pandas as pd
import torch

from ict_core.shadow.checkpoint import Alternatives, Groups, group_advantages
from ict_core.store.token_scores import STATISTICS
from ict_core.tokens.streaming import TokenStatistics

HOSTILE = [
    *("</script>", "<script>window.hit=1</script>", "<img src=x onerror=window.hit=1>", "<svg onload=window.hit=1>"),
    *("<style>*{display:none}</style>", "<meta http-equiv=refresh content='0;url=about:blank'>", "<!--", "-->", "]]>"),
    *(
        "&lt;",
        "&amp;",
        "\"'\\`${window.hit=1}",
        "javascript:window.hit=1",
        "__proto__",
        "constructor",
        "\x00",
        "\x1b[31m",
    ),
    *(
        "\u2028",
        "\u2029",
        "\u202e",
        "\u2066",
        "\u200b",
        "\u00a0",
        "\ufeff",
        "\ufffd",
        "\u3164",
        "\r\n",
        "\t",
        "\n",
        " ",
    ),
    *("a" * 3000, "e" + "\u0301" * 40, "\u0301x", "\u05e9\u05dc\u05d5\u05dd", "\U0001f469\u200d\U0001f467"),
]


class Vocabulary:
    """Stands for a tokenizer: a text for each id."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    def decode(self, ids: list[int], **_: bool) -> str:
        return "".join(self.texts[i] for i in ids)

    def convert_ids_to_tokens(self, number: int) -> str:
        return self.texts[number]


def made_up_groups(texts: list[str], *, prompts: int, size: int, length: int, prompt: str = "Q: 1+1\nA:") -> Groups:
    """Rollouts of up to ``length`` tokens; the first one has all of ``texts`` from its beginning."""
    g = torch.Generator().manual_seed(0)
    rows = prompts * size
    ids = torch.randint(len(texts), (rows, length), generator=g)
    ids[0] = torch.arange(length) % len(texts)
    lengths = torch.randint(max(1, length // 2), length + 1, (rows,), generator=g)
    lengths[0] = length
    mask = torch.arange(length) < lengths[:, None]
    values = torch.rand(len(STATISTICS), rows, length, generator=g).square() * mask
    values[0] *= -3  # log-probabilities
    rewards = (torch.rand(rows, generator=g) < 0.5).float()
    rewards[-1] = torch.nan
    probs = torch.rand(rows, length, 3, generator=g).sort(-1, descending=True).values / 3
    row = {"benchmark": "made-up", "prompt": prompt, "answer": "2", "answer_type": "math"}
    return Groups(
        problems=pd.DataFrame([{**row, "problem": f"made-up-{i}"} for i in range(prompts)]),
        prompt_ids=torch.zeros(rows, 1, dtype=torch.long),
        prompt_mask=torch.ones(rows, 1, dtype=torch.bool),
        completion_ids=ids * mask,
        completion_mask=mask,
        rewards=rewards,
        advantages=group_advantages(rewards, size),
        statistics=TokenStatistics(values, STATISTICS, size),
        forks=(torch.rand(rows, length, generator=g) < 0.1).float() * mask,
        alternatives=Alternatives(torch.randint(len(texts), (rows, length, 3), generator=g), probs),
        model=None,
        tokenizer=Vocabulary(texts),
    )
