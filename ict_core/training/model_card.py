"""The model card that is saved with a trained checkpoint, for readers who find it without the study."""

from collections.abc import Mapping
from typing import Any

_WHAT = (
    "trained by GRPO on the tokens that the selection rule `{variant}` keeps, by a reproducible benchmark of token "
    "selection in RLVR. It is a run of an experiment, not a model to be used."
)


def model_card(resolved: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The card as Markdown with the hub's header, from a cell's resolved configuration and its training's manifest.

    It says nothing about the machine: no path, host or user. A base model from a local folder is described as such.
    """
    model, method, training, data = (resolved[key] for key in ("model", "method", "training", "data"))
    variant, base, seed = method["name"], _base(model), resolved["seed"]
    header = ["library_name: transformers", f"tags: [grpo, rlvr, token-selection, {method['selector']}]"]
    if hub := model.get("hub"):
        header.append(f"base_model: {hub}")
    if licence := model.get("licence"):
        header.append(f"license: {str(licence).lower()}")
    sets = data.get("train_sets") or ["generated problems"]
    names = ", ".join(entry["name"] if isinstance(entry, Mapping) else str(entry) for entry in sets)
    rows = {
        "base model": f"{base}, weights {facts['base_sha256'][:16]}",
        "rule": f"`{variant}`: {_words(method)}",
        "trained on": f"{names}; problems {facts['problems_sha256'][:16]}, seed {seed}",
        "recipe": _words(training),
        "code": f"commit {facts['source']['commit'] or 'none'}, library {facts['source']['sha256'][:16]}",
        "weights": facts["model_sha256"],
        "scores": "not measured when this was saved; the study's tables have them",
    }
    title, what = f"# {model['name']}, {variant}, seed {seed}", f"{base}, {_WHAT.format(variant=variant)}"
    table = ["| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in rows.items())]
    return "\n".join(["---", *header, "---", "", title, "", what, "", *table, ""])


def _words(section: Mapping[str, Any]) -> str:
    """A section's keys and values as text, without names and addresses."""
    parts = []
    for key, value in section.items():
        if isinstance(value, Mapping):
            parts.append(f"{key} ({_words(value)})")
        elif value is not None and key not in ("name", "server"):
            parts.append(f"{key} {value}")
    return ", ".join(parts)


def _base(model: Mapping[str, Any]) -> str:
    if model["kind"] == "hub":
        return f"{model['hub']} at {model['revision'][:12]}"
    if model["kind"] == "package":
        return f"{model['file'].rpartition('/')[2]} of {model['package']} {model['version']}"
    return f"{model['name']}, {'from a local folder' if model['kind'] == 'local' else 'pretrained by the study'}"
