"""Whether the numbers of a study come from one code, one class of hardware and one set of packages."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from ict_core.process import hardware_class

_SHOWN = 4


def mixture(manifest: Mapping[str, Any]) -> list[str]:
    """What the jobs of a study do not have in common, one text a kind; empty where they have it all.

    * Code: a file of the library that two jobs loaded in different states. A file that neither loaded does not count.
    * Packages, and Python: of any two jobs.
    * Hardware: processor (of native numerics) and kinds of GPU of two jobs of one stage that computed something; how
      many cores or GPUs a job had does not count.
    * A working tree with changes that no commit holds.

    Args:
        manifest: what `collect.merge_manifests` made.
    """
    states = defaultdict(set)
    for loaded in manifest["loaded"]:
        for file, state in loaded.items():
            states[file].add(state)
    files = sorted(file for file, hashes in states.items() if len(hashes) > 1)
    environments = [{"Python": e["python"], **e["packages"]} for e in manifest["environments"]]
    names = sorted({name for packages in environments for name in packages})
    versions = {name: {packages.get(name) or "none" for packages in environments} for name in names}
    packages = [f"{name} {' and '.join(sorted(several))}" for name, several in versions.items() if len(several) > 1]
    different = {"code": files, "packages": packages, "hardware": _hardware(manifest)}
    faults = [f"different {kind} ({_some(found)})" for kind, found in different.items() if found]
    if any(source["dirty"] for source in manifest["sources"]):
        faults.append("a working tree with changes that no commit holds")
    return faults


def mixture_note(manifest: Mapping[str, Any]) -> str:
    """A sentence for every table if :func:`mixture` finds anything, else an empty text."""
    faults = mixture(manifest)
    return f"Mixed study: its jobs come from {'; '.join(faults)}." if faults else ""


def kinds(manifest: Mapping[str, Any]) -> dict[str, str]:
    """What a study's jobs come from, in words: commit, packages with Python, hardware."""
    environments = manifest["environments"]
    commits = sorted({str(source["commit"])[:12] for source in manifest["sources"]})
    versions = {f"{name} {version}" for e in environments for name, version in e["packages"].items()}
    pythons = {f"Python {e['python']}" for e in environments}
    machines = {_class_of(manifest, job) for job in manifest["jobs"]}
    return {
        "commit": " and ".join(commits),
        "packages": ", ".join(sorted(pythons | versions)),
        "hardware": " and ".join(sorted(machines)),
    }


def _class_of(manifest: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    machine = manifest["environments"][job["environment"]]["platform"]
    return ", ".join(hardware_class(machine, manifest["processes"][job["process"]]))


def _hardware(manifest: Mapping[str, Any]) -> list[str]:
    classes = defaultdict(set)
    for job in manifest["jobs"]:
        if job["stage"] != "generate" or job["tokens"]:  # else all was reused
            classes[job["stage"]].add(_class_of(manifest, job))
    return [f"{stage}: {' or '.join(sorted(several))}" for stage, several in classes.items() if len(several) > 1]


def _some(names: list[str]) -> str:
    more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
