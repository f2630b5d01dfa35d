"""The model card that is saved with a trained checkpoint: what it is, for whom finds it without the study."""

from collections.abc import Mapping
from typing import Any

_HEAD = """\
---
library_name: transformers
tags: [grpo, rlvr, token-selection, {selector}]
{lines}---

# {name}

{base}, trained by GRPO on the tokens that the selection rule `{variant}` keeps, by a reproducible benchmark of token \
selection in RLVR. It is a run of an experiment, not a model to be used.

| | |
|---|---|
"""


def model_card(resolved: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The card as Markdown with the hub's header, from a cell's resolved configuration and its training's manifest.

    Nothing of the machine is in it: no path, host or user. A base model that came from a folder is called so.
    """
    model, method, training, data = (resolved[key] for key in ("model", "method", "training", "data"))
    hub = model.get("hub")
    lines = [f"base_model: {hub}\n"] if hub else []
    lines += [f"license: {str(model['licence']).lower()}\n"] if model.get("licence") else []
    sets = data.get("train_sets") or ["generated problems"]
    names = [entry["name"] if isinstance(entry, Mapping) else str(entry) for entry in sets]
    rows = {
        "base model": f"{_base(model)}, weights {facts['base_sha256'][:16]}",
        "rule": f"`{method['name']}`: {_words(method)}",
        "trained on": f"{', '.join(names)}; problems {facts['problems_sha256'][:16]}, seed {resolved['seed']}",
        "recipe": _words(training),
        "code": f"commit {facts['source']['commit'] or 'none'}, library {facts['source']['sha256'][:16]}",
        "weights": facts["model_sha256"],
        "scores": "not measured when this was saved; the study's tables have them",
    }
    head = _HEAD.format(
        selector=method["selector"],
        lines="".join(lines),
        name=f"{model['name']}, {method['name']}, seed {resolved['seed']}",
        base=_base(model),
        variant=method["name"],
    )
    return head + "".join(f"| {key} | {value} |\n" for key, value in rows.items())


def _words(section: Mapping[str, Any]) -> str:
    """What a section states, but for names and addresses."""
    told = []
    for key, value in section.items():
        if isinstance(value, Mapping):
            told.append(f"{key} ({_words(value)})")
        elif value is not None and key not in ("name", "server"):
            told.append(f"{key} {value}")
    return ", ".join(told)


def _base(model: Mapping[str, Any]) -> str:
    kind = model["kind"]
    if kind == "hub":
        return f"{model['hub']} at {model['revision'][:12]}"
    if kind == "package":
        return f"{model['file'].rpartition('/')[2]} of {model['package']} {model['version']}"
    return {"local": f"{model['name']}, from a local folder"}.get(kind, f"{model['name']}, pretrained by the study")
