"""`study.json`: what a results folder says about the study that filled it, so that evidence needs no other file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ict_core.errors import UserError
from ict_core.statistics import Design
from ict_core.store import read_manifest


class Variation(NamedTuple):
    """A variant beside the one that it varies."""

    of: str  # that one, or the first baseline where the variant declares none
    factor: str | None  # the key by which it differs, as declared; None where none is
    different: tuple[tuple[str, Any, Any], ...]  # every key in which the trainings differ, its value in `of` and here
    equal: int  # the number of all other keys

    def values(self) -> tuple[Any, Any]:
        """Of the declared factor: in `of` and in the variant; of a recipe's key that it replaces, the recipe's."""
        pairs = {key: (of, value) for key, of, value in self.different}
        return pairs.get(f"training.{self.factor}") or pairs[f"method.{self.factor}"]


def words(value: object) -> str:
    """A configured value as a reader sees it."""
    return "none" if value is None else str(value)


@dataclass(frozen=True)
class Settings:
    """The settings that tables, figures and claims are made by."""

    name: str  # the study's
    note: str  # a sentence that every table, figure and page shows
    variants: tuple[str, ...]  # that were trained, in the study's order
    shared: tuple[str, ...]  # what the main figures show: those that the study names, else those that every model ran
    baselines: tuple[str, ...]  # the variants that every other one is compared with
    mirrors: dict[str, str]  # for each benchmark, in order, the paper's benchmark whose place it takes
    margin: float  # the smallest difference of interest, a share
    power: float  # of the smallest detectable difference and of the seeds needed
    arms: dict[str, Variation]  # variant -> what it varies
    design: Design  # what the scores must hold
    whole: Mapping[str, Any]  # everything else that was configured, as written in the file

    def reruns(self) -> dict[str, str]:
        """Each variant that was trained again with the same random numbers -> the variant that is its rerun."""
        return {arm.of: v for v, arm in self.arms.items() if arm.factor == "replica" and arm.values()[1] == 0}


def _variation(written: Mapping[str, Any]) -> Variation:
    different = tuple((key, of, value) for key, of, value in written["different"])
    return Variation(written["of"], written["factor"], different, written["equal"])


def read_settings(path: Path) -> Settings:
    """Read the file that `ict settings` wrote.

    Raises:
        UserError: it is missing or lacks a key.
        Damaged: it is not what was written.
    """
    try:
        whole = read_manifest(path)
        variants = tuple(dict.fromkeys(v for block in whole["grid"] for v in block["methods"]))
        return Settings(
            name=whole["study"],
            note=whole["note"],
            variants=variants,
            shared=tuple(whole["shown"]),
            baselines=tuple(whole["baselines"]),
            mirrors={benchmark["name"]: benchmark["mirrors"] for benchmark in whole["benchmarks"]},
            margin=whole["evidence"]["margin_points"] / 100,
            power=whole["evidence"]["power"],
            arms={variant: _variation(whole["arms"][variant]) for variant in variants if variant in whole["arms"]},
            design=Design.of(whole),
            whole=whole,
        )
    except KeyError as error:
        raise UserError(f"{path}: the key {error} is missing; let `ict settings` write the file anew") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{path}: not as `ict settings` writes it ({error}); let it write the file anew") from error
