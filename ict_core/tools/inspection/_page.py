"""Sampled groups as one page of HTML that stands alone: every token shaded by a score, kept tokens and forks marked.

What a model wrote is hostile until proven otherwise: it enters the page as JSON without any character that HTML reads,
and the page's script only ever puts it into text nodes. A Content-Security-Policy lets nothing run or load but the
page's own script and style.
"""

import base64
import hashlib
import json
from html import escape
from importlib import resources
from typing import Any

from torch import Tensor

from ict_core.shadow import Groups

SHADES = {
    "js": ("u (JS)", "Jensen-Shannon divergence from the mean of the group's live rollouts at the position", "nats"),
    "js_leave_one_out": ("JS, others' mean", "from the mean of the other live rollouts at the position", "nats"),
    "js_sequence": ("JS, rollout's mean", "from the mean over the rollout's positions", "nats"),
    "js_group": ("JS, group's mean", "from the mean over all positions of the group's rollouts", "nats"),
    "kl": ("KL", "Kullback-Leibler divergence from the mean at the position", "nats"),
    "tv": ("total variation", "from the mean at the position, 0 to 1", ""),
    "wasserstein": ("1-Wasserstein", "over token indices, from the mean at the position", "token indices"),
    "h1": ("H1", "Shannon entropy", "nats"),
    "h2": ("H2", "Rényi entropy of order 2", "nats"),
    "p": ("p", "probability of the sampled token", ""),
    "surprise": ("1 − p", "probability of all other tokens", ""),
    "distance": ("|p − β|", "distance of p to the purity β = Σp²", ""),
    "advantage": ("A", "advantage of the rollout in its group", ""),
    "gradient": ("|A| √(1 − 2p + β)", "norm of A times the gradient of ln p by the logits", ""),
}
"""What tokens can be shaded by: name, meaning, unit. Those from p on are computed in the page, from p, H2 and A."""

_TEMPLATE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This page shows its data by a script of its own, which is switched off here.</noscript>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def page_data(groups: Groups, kept: dict[str, Tensor], title: str, facts: list[str]) -> dict[str, Any]:
    """All that the page shows, as JSON-able values.

    Args:
        kept: by the name of a rule, the tokens that it keeps, (B, T) bool.
        title, facts: where the groups were sampled from; how, a sentence each.
    """
    used = groups.completion_ids[groups.completion_mask].unique().tolist()
    if groups.alternatives is not None:
        used += groups.alternatives.ids[groups.completion_mask].unique().tolist()
    size = groups.statistics.group_size
    return {
        "title": title,
        "facts": facts,
        "shades": [[key, *shown] for key, shown in SHADES.items()],
        "rules": list(kept),
        "vocabulary": {i: str(groups.tokenizer.decode([i], clean_up_tokenization_spaces=False)) for i in set(used)},
        "groups": [
            {
                **{name: row[name] for name in ("benchmark", "problem", "prompt", "answer")},
                "rollouts": [_rollout(groups, kept, index * size + g) for g in range(size)],
            }
            for index, row in enumerate(groups.problems.to_dict("records"))
        ],
    }


def _rollout(groups: Groups, kept: dict[str, Tensor], row: int) -> dict[str, Any]:
    """A rollout: one list a quantity, one entry a token; marks are lists of positions."""
    on, tokens, reward = groups.completion_mask[row], groups.statistics, groups.rewards[row]
    forks = groups.forks[row][on]
    likeliest = groups.alternatives
    probabilities = [] if likeliest is None else likeliest.probs[row][on].tolist()
    return {
        "reward": None if reward.isnan() else reward.item(),
        "advantage": _short(groups.advantages[row].item()),
        "ids": groups.completion_ids[row][on].tolist(),
        "columns": {name: [_short(x) for x in tokens[name][row][on].tolist()] for name in tokens.names},
        "kept": [mask[row].nonzero().flatten().tolist() for mask in kept.values()],
        "forks": None if forks.isnan().any() else forks.nonzero().flatten().tolist(),
        "likeliest": [] if likeliest is None else likeliest.ids[row][on].tolist(),
        "probabilities": [[_short(p) for p in at] for at in probabilities],
    }


def _short(value: float) -> float:
    """Four significant digits."""
    return float(f"{value:.4g}")


def page(data: dict[str, Any]) -> str:
    """The page of :func:`page_data`."""
    style, script = (_source(f"page.{kind}") for kind in ("css", "js"))
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    return _TEMPLATE.format(
        policy=policy, title=escape(f"Tokens of {data['title']}"), style=style, script=script, data=inert(data)
    )


def inert(data: Any) -> str:
    """JSON in ASCII in which nothing can end or open an element, a comment or a character reference."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _source(name: str) -> str:
    return resources.files("ict_core.tools.inspection").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
