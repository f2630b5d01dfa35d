"""Sampled groups as one self-contained HTML page: every token shaded by a score, kept tokens and forks marked.

A model's text is treated as hostile: it enters the page as JSON without any character that HTML interprets, and the
page's script only ever puts it into text nodes. A Content-Security-Policy lets nothing run or load except the page's
own script and style.
"""

import base64
import hashlib
import json
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from ict_core.config.method_files import load_method
from ict_core.config.methods import Method
from ict_core.config.mistakes import one_of
from ict_core.errors import UserError
from ict_core.problems.templates import templated
from ict_core.seeding import derive_seed, generator
from ict_core.selection.base import Rule, TokenBatch
from ict_core.shadow.checkpoint import Groups, GroupSampling, sample_groups
from ict_core.shadow.texts import token_text
from ict_core.store import records
from ict_core.store.token_scores import STATISTICS
from ict_core.tools.inspection.cell import Inspected

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
"""The quantities that can shade tokens: name, meaning, unit. The page computes those from p on, from p, H2 and A."""

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


def page_data(groups: Groups, weights: dict[str, Tensor], title: str, facts: list[str]) -> dict[str, Any]:
    """All that the page shows, as JSON-able values.

    `weights` are each rule's token weights by the rule's name, (B, T), bool or float; `title` and `facts` say from what
    and how the groups were sampled.
    """
    used = groups.completion_ids[groups.completion_mask].unique().tolist()
    if groups.alternatives is not None:
        used += groups.alternatives.ids[groups.completion_mask].unique().tolist()
    size = groups.statistics.group_size
    return {
        "title": title,
        "facts": facts,
        "shades": [[key, *texts] for key, texts in SHADES.items()],
        "rules": list(weights),
        "vocabulary": {i: token_text(groups.tokenizer, i) for i in set(used)},
        "groups": [
            {
                **{name: row[name] for name in ("benchmark", "problem", "prompt", "answer")},
                "rollouts": [_rollout(groups, weights, index * size + g) for g in range(size)],
            }
            for index, row in enumerate(groups.problems.to_dict("records"))
        ],
    }


def _rollout(groups: Groups, weights: dict[str, Tensor], row: int) -> dict[str, Any]:
    """A rollout: one list per quantity, one entry per token; marks are lists of positions."""
    mask, tokens, reward = groups.completion_mask[row], groups.statistics, groups.rewards[row]
    forks = groups.forks[row][mask]
    likeliest = groups.alternatives
    probabilities = [] if likeliest is None else likeliest.probs[row][mask].tolist()
    return {
        "reward": None if reward.isnan() else reward.item(),
        "advantage": short(groups.advantages[row].item()),
        "ids": groups.completion_ids[row][mask].tolist(),
        "columns": {name: [short(x) for x in tokens[name][row][mask].tolist()] for name in STATISTICS},
        "kept": [values[row].nonzero().flatten().tolist() for values in weights.values()],
        "weights": [
            [] if values.dtype == torch.bool else [short(x) for x in values[row][mask].tolist()]
            for values in weights.values()
        ],
        "forks": None if forks.isnan().any() else forks.nonzero().flatten().tolist(),
        "likeliest": [] if likeliest is None else likeliest.ids[row][mask].tolist(),
        "probabilities": [[short(p) for p in at] for at in probabilities],
    }


def short(value: float) -> float:
    """A number rounded to four significant digits."""
    return float(f"{value:.4g}")


def page(data: dict[str, Any], shown: str = "Tokens", own: str = "page") -> str:
    """The page of :func:`page_data`, or of other data; `shown` begins its title, `own` is the stem of its script."""
    style, script = _source("page.css"), _source("text.js") + _source(f"{own}.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    return _TEMPLATE.format(
        policy=policy, title=escape(f"{shown} of {data['title']}"), style=style, script=script, data=inert(data)
    )


def inert(data: Any) -> str:
    """JSON in ASCII in which nothing can end or open an element, a comment or a character reference."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _source(name: str) -> str:
    return resources.files("ict_core.tools.inspection").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


_MOST_ALTERNATIVES = 20


def chosen_problems(path: Path, benchmark: str | None, count: int, seed: int) -> pd.DataFrame:
    """``count`` problems of a file of ``records.PROBLEMS``, drawn at random, in the file's order."""
    problems = records.read_frame(path, records.PROBLEMS)
    if benchmark is not None:
        names = problems["benchmark"].unique()
        if benchmark not in names:
            raise UserError(f"--benchmark {benchmark}: not in {path}; {one_of(names)}")
        problems = problems[problems["benchmark"] == benchmark]
    if not 1 <= count <= len(problems):
        raise UserError(f"--count {count} is not allowed; allowed: 1 to {len(problems)}, the problems of {path}")
    rows = generator(seed, "inspected problems").choice(len(problems), count, replace=False)
    return problems.iloc[sorted(rows)]


def with_rules(cell: Inspected, files: list[Path]) -> dict[str, Method]:
    """The cell's own rule, and those of some ``configs/methods/<variant>.yaml`` files by their names."""
    rules = dict(cell.rules)
    for file in files:
        if file.stem in rules:
            raise UserError(f"--method {file}: a rule named {file.stem} is marked already; leave it out or rename it")
        rules[file.stem] = load_method(file)
    return rules


def token_weights(groups: Groups, rules: dict[str, Method], seed: int) -> dict[str, Tensor]:
    """The token weights of each rule if these groups are the whole optimisation batch, (B, T) by rule."""
    rule_seed, named = derive_seed(seed, "inspected rule"), [Rule.of(name, method) for name, method in rules.items()]
    tensors = groups.statistics, groups.advantages, groups.completion_mask, groups.completion_ids
    batch = TokenBatch(*tensors, decisions=groups.decisions(named))
    return {rule.name: rule.weights(batch, rule_seed) for rule in named}


def tokens_page(cell: Inspected, rules: dict[str, Method], problems: pd.DataFrame, seed: int, alternatives: int) -> str:
    """The page, as HTML, with this number of `alternatives` at each position; `problems` lack the model's template."""
    if not 0 <= alternatives <= _MOST_ALTERNATIVES:
        raise UserError(f"--alternatives {alternatives} is not allowed; allowed: 0 to {_MOST_ALTERNATIVES}")
    training = cell.training
    sampling = GroupSampling(
        group_size=training.group_size,
        temperature=training.temperature,
        max_new_tokens=training.max_new_tokens,
        seed=seed,
        known_forks=cell.known_forks,
        alternatives=alternatives,
        threads=training.threads,
    )
    prompted = problems.assign(prompt=templated(cell.template, problems["prompt"]))
    groups = sample_groups(cell.checkpoint, prompted, sampling, cell.grading)
    size = training.group_size
    facts = [
        f"{size} rollouts of each of {len(problems)} prompts, sampled at temperature {training.temperature:g} with at "
        f"most {training.max_new_tokens} new tokens (seed {seed}); logarithms are natural. A is the advantage in the "
        f"group, u the JS score at the position, β = Σp²; a rank of 1 is the highest. "
        f"A rule that compares tokens over a batch has these {len(problems) * size} rollouts for its batch."
    ]
    if any(method.random_reward for method in cell.rules.values()):
        facts.append("This model was trained by random rewards; those shown here are the verifier's.")
    return page(page_data(groups, token_weights(groups, rules, seed), cell.name, facts))
