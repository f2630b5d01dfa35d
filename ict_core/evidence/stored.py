"""What a results folder says about its study: settings (`study.json`), frames, and whether its jobs are alike."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ict_core.config.comparison import ABSENT
from ict_core.config.selectors import section_of
from ict_core.config.study_file import EvidenceBounds, Primary, Validity
from ict_core.errors import UserError
from ict_core.process.machine import hardware_class
from ict_core.statistics.design import Design
from ict_core.statistics.headroom import with_headroom
from ict_core.statistics.metrics import ungraded
from ict_core.statistics.schemas import BASE, STATISTICS
from ict_core.store import records
from ict_core.store.layout import LEARNING_CURVE, StudyFiles
from ict_core.store.manifests import read_manifest

MEASURED = {
    "scores": records.SCORES,
    "shared_rate_scores": records.SCORES,  # of the cells at the shared learning rate; empty without such cells
    "tuning": records.TUNING,
    "log": records.STUDY_LOG,
    LEARNING_CURVE: records.STUDY_LEARNING_CURVE,  # only of a study that asks for one
    "tokens": records.STUDY_TOKENS,
    "shadow": records.STUDY_SHADOW,
    "overlap": records.STUDY_OVERLAP,
    "compute": records.COMPUTE,
    "contamination": records.CONTAMINATION,
    "near_duplicates": records.NEAR_DUPLICATES,
}
_SHOWN = 4
ONE_BASE = "All trainings of {} began with one base model: intervals and tests do not speak for another one."
UNEQUAL_SEEDS = "Not all methods have the same seeds, so levels and gains are over different base models; compare by Δ."


class ArmVariation(NamedTuple):
    """A variant compared with the variant that it varies."""

    of: str  # the varied variant, or the first baseline if the variant declares none
    factor: str | None  # the declared key by which it differs; None if none is declared
    different: tuple[tuple[str, Any, Any], ...]  # every key in which the trainings differ, its value in `of` and here
    equal: int  # the number of all other keys

    def values(self) -> tuple[Any, Any]:
        """The values of the declared factor in `of` and in the variant; if it replaces a key of the recipe, that key's.

        The value of a section is one text, with every key and its value.
        """
        pairs = {key: (original, value) for key, original, value in self.different}
        name = f"method.{self.factor}"
        parts = {key.removeprefix(f"{name}."): pair for key, pair in pairs.items() if key.startswith(f"{name}.")}
        if not parts:
            return pairs.get(f"training.{self.factor}") or pairs[name]
        sides = [{key: pair[side] for key, pair in parts.items() if pair[side] != ABSENT} for side in (0, 1)]
        original, value = (", ".join(f"{key} {stated}" for key, stated in side.items()) or ABSENT for side in sides)
        return original, value


def words(value: object) -> str:
    """A configured value as a reader sees it."""
    return "none" if value is None else str(value)


@dataclass(frozen=True)
class Settings:
    """The settings by which tables, figures and claims are made."""

    name: str  # the study's
    note: str  # a sentence that every table, figure and page shows
    variants: tuple[str, ...]  # the trained variants, in the study's order
    shared: tuple[str, ...]  # variants of the main figures: those that the study names, else those that every model ran
    baselines: tuple[str, ...]  # the variants that every other one is compared with
    mirrors: dict[str, str]  # for each benchmark, in order, the paper's benchmark whose place it takes
    margin: float  # the smallest difference of interest, a share
    power: float  # for the smallest detectable difference and the seeds needed
    arms: dict[str, ArmVariation]  # variant -> what it varies
    design: Design  # what the scores must contain
    whole: Mapping[str, Any]  # everything that was configured, as written in the file
    validity: Validity | None = None  # the gates that the study declares; None: it declares none
    primary: Primary | None = None  # its own question; None: the ledger's

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "Settings":
        """The settings from a study's :meth:`Study.stage_config` of its evidence, as in `study.json`."""
        variants = tuple(dict.fromkeys(v for block in content["grid"] for v in block["methods"]))
        arms = {variant: content["arms"][variant] for variant in variants if variant in content["arms"]}
        evidence = EvidenceBounds.model_validate_json(json.dumps(content["evidence"]))
        return cls(
            name=content["study"],
            note=content["note"],
            variants=variants,
            shared=tuple(content["shown"]),
            baselines=tuple(content["baselines"]),
            mirrors={benchmark["name"]: benchmark["mirrors"] for benchmark in content["benchmarks"]},
            margin=evidence.margin_points / 100,
            power=evidence.power,
            arms={
                variant: ArmVariation(arm["of"], arm["factor"], tuple(map(tuple, arm["different"])), arm["equal"])
                for variant, arm in arms.items()
            },
            design=Design.of(content),
            whole=content,
            validity=evidence.validity,
            primary=evidence.primary,
        )

    @property
    def scope(self) -> str:
        """What the intervals and tests apply to, if that is not new base models; else empty."""
        bases = Counter(model for model, variant, _ in self.design.cells if variant == BASE)
        single = [model for model, number in bases.items() if number == 1]
        if not single:
            return ""
        models = "a model" if len(single) == len(bases) else " and ".join(single)
        real = f"{self.real_models[0].upper()}{self.real_models[1:]}. " if self.real_models else ""
        return f"{real}{ONE_BASE.format(models)}"

    @property
    def unequal_seeds(self) -> str:
        """A sentence if methods of a model have different seeds, which each have a base model; else empty."""
        runs: dict[tuple[str, str], set[int]] = defaultdict(set)
        for model, variant, seed in self.design.cells:
            runs[model, variant].add(seed)
        bases = ((runs[model, BASE], seeds) for (model, _), seeds in runs.items())
        return UNEQUAL_SEEDS if any(len(of_base) > 1 and seeds != of_base for of_base, seeds in bases) else ""

    @property
    def real_models(self) -> str:
        """How many models and runs the study has, in words, if its models come from elsewhere; else empty."""
        kinds = [model["kind"] for model in self.whole["models"].values()]
        if "pretrained-from-scratch" in kinds:
            return ""
        runs = sum(variant != BASE for _, variant, _ in self.design.cells)
        numbers = {"real model": len(kinds), "training run": runs}
        return ", ".join(f"one {name}" if n == 1 else f"{n} {name}s" for name, n in numbers.items())

    @property
    def recipe_rate(self) -> float:
        """The learning rate of the recipe, which all variants share unless they have a rate of their own."""
        return float(self.whole["training"]["learning_rate"])

    @property
    def chooses_rates(self) -> bool:
        """Whether each variant has a learning rate of its own, which this study or another chose."""
        return bool(self.whole.get("tuning") or self.whole.get("rates_of"))

    @property
    def kept(self) -> dict[str, float]:
        """The percent of the tokens that a rule keeps by its own parameter, by variant, for the rules that have one.

        Variants that vary anything else than the share or the score of a rule are left out.
        """
        percents: dict[str, float] = {}
        for variant in self.variants:
            method = self.whole["methods"][variant]
            percent = section_of(method["selector"]).percent_kept(method)
            factor = (method.get("ablation") or {}).get("factor")
            if percent is not None and factor in (None, "keep", "percent", "score"):
                percents[variant] = int(percent) if percent.is_integer() else percent
        return percents


class Stored:
    """The frames of one study by name, each read when it is first used.

    `stored` is the folder with the files `StudyFiles.measured`, `results` that into which the statistics stage wrote.
    """

    def __init__(self, stored: Path, results: Path | None = None) -> None:
        self._files, self._made = StudyFiles(stored), StudyFiles(results) if results is not None else None
        self.frame = cache(self._read)

    @cached_property
    def settings(self) -> Settings:
        """The study's settings; UserError where the file that `ict settings` wrote is missing or lacks a key."""
        path = self._files.settings
        try:
            return Settings.of(read_manifest(path))
        except KeyError as error:
            raise UserError(f"{path}: the key {error} is missing; let `ict settings` write the file anew") from error
        except (TypeError, ValueError, AttributeError) as error:
            raise UserError(f"{path}: not as `ict settings` writes it ({error}); let it write the file anew") from error

    @cached_property
    def note(self) -> str:
        """What every table says about the study: note, scope, benchmarks not averaged, samples not graded, mixture."""
        lost = ungraded(self.frame("scores"), self.averaged)
        shared = ungraded(self.frame("shared_rate_scores"), self.averaged)
        shared = f"At the shared rate: {shared}" if shared else ""
        seeds = self.settings.scope or self.settings.unequal_seeds
        return " ".join(filter(None, [self.settings.note, seeds, self.outside, lost, shared, self.mixed]))

    @cached_property
    def averaged(self) -> list[str]:
        """The benchmarks that the average is over: all, or those with headroom if the study declares that rule."""
        validity = self.settings.validity
        if validity is None or validity.headroom_points is None:
            return list(self.settings.mirrors)
        return with_headroom(self.frame("scores"), validity.headroom_points / 100)

    @property
    def outside(self) -> str:
        """A sentence that names the benchmarks outside of the average, if there are any, else an empty text."""
        names = [name for name in self.settings.mirrors if name not in self.averaged]
        return f"Outside of the average, as they leave the base model no headroom: {', '.join(names)}." if names else ""

    @cached_property
    def mixed(self) -> str:
        """A sentence if the study's jobs are of several kinds, else an empty text."""
        return mixture_note(read_manifest(self._files.manifest))

    def _read(self, name: str) -> pd.DataFrame:
        """A frame of :data:`MEASURED` or `STATISTICS`; a UserError if its file is missing or its name is unknown."""
        if name in MEASURED:
            return records.read_frame(self._files.frame(name), MEASURED[name])
        if name in STATISTICS and self._made is not None:
            return records.read_frame(self._made.statistics(name), STATISTICS[name])
        raise UserError(f"frame {name!r} is unknown; allowed: {', '.join([*MEASURED, *STATISTICS])}")


def mixture_note(manifest: Mapping[str, Any]) -> str:
    """A sentence for every table on what the jobs in a study's manifest do not have in common; empty if nothing.

    * Code: a file of the library that two jobs loaded in different states. A file that neither loaded does not count.
    * Packages and Python: versions in which any two jobs differ.
    * Hardware: processor (with native numerics) and kinds of GPU of two jobs of one stage that computed something. The
      number of cores or GPUs of a job does not count.
    * A working tree with changes that no commit holds.
    """
    states = Counter(file for file, _ in {pair for loaded in manifest["loaded"] for pair in loaded.items()})
    files = sorted(file for file, hashes in states.items() if hashes > 1)
    environments = [{"Python": e["python"], **e["packages"]} for e in manifest["environments"]]
    names = sorted({name for packages in environments for name in packages})
    versions = {name: {packages.get(name) or "none" for packages in environments} for name in names}
    packages = [f"{name} {' and '.join(sorted(several))}" for name, several in versions.items() if len(several) > 1]
    different = {"code": files, "packages": packages, "hardware": _hardware(manifest)}
    faults = []
    for kind, found in different.items():
        more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
        if found:
            faults.append(f"different {kind} ({', '.join([*found[:_SHOWN], *more])})")
    if any(source["dirty"] for source in manifest["sources"]):
        faults.append("a working tree with changes that no commit holds")
    if any(source.get("commit") and source["dirty"] is None for source in manifest["sources"]):
        faults.append("a working tree whose changes git did not tell in time")
    return f"Mixed study: its jobs come from {'; '.join(faults)}." if faults else ""


def kinds(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The commits, packages (with Python) and hardware of a study's jobs, in words."""
    environments = manifest["environments"]
    commits = sorted({str(source["commit"])[:12] for source in manifest["sources"]})
    versions = {f"{name} {version}" for e in environments for name, version in e["packages"].items()}
    pythons = {f"Python {e['python']}" for e in environments}
    machines = {name for job in manifest["jobs"] for name in _classes_of(manifest, job)}
    return {
        "commit": " and ".join(commits),
        "packages": ", ".join(sorted(pythons | versions)),
        "hardware": " and ".join(sorted(machines)),
    }


def _classes_of(manifest: Mapping[str, Any], job: Mapping[str, Any]) -> set[str]:
    """The hardware of a job, and of the machines on which its training ran earlier."""
    machine = manifest["environments"][job["environment"]]["platform"]
    last = hardware_class(machine, manifest["processes"][job["process"]])
    return {", ".join(kinds) for kinds in (last, *(m["hardware"] for m in job.get("earlier_machines", [])))}


def _hardware(manifest: Mapping[str, Any]) -> list[str]:
    classes: dict[str, set[str]] = defaultdict(set)
    for job in manifest["jobs"]:
        if job["stage"] != "generate" or job["tokens"]:  # otherwise all answers were reused
            classes[job["stage"]] |= _classes_of(manifest, job)
    return [f"{stage}: {' or '.join(sorted(several))}" for stage, several in classes.items() if len(several) > 1]
