"""Every number that is shown of a study: runs, levels, contrasts, and measures of tokens."""

from pathlib import Path

import pandas as pd

from ict_core.evidence.batches import batch_frame
from ict_core.evidence.bench import claims_of, rules_of
from ict_core.evidence.claims import declared_pairs
from ict_core.evidence.ledger import ledger
from ict_core.evidence.measures import token_frames
from ict_core.evidence.stored import Stored
from ict_core.evidence.validity import ledger_frames, validity_frame
from ict_core.statistics.analysis import analyse
from ict_core.statistics.contrasts import Comparisons
from ict_core.statistics.design import check_scores
from ict_core.statistics.intervals import over_seeds
from ict_core.statistics.ranks import rank_frame
from ict_core.statistics.schemas import BASE, CELL, SHARED_RATE, STATISTICS
from ict_core.store.declared import values_hash
from ict_core.store.layout import LEARNING_CURVE, StudyFiles
from ict_core.store.manifests import read_manifest
from ict_core.store.records import STATUSES_GRADED


def study_frames(stored: Path, claims: Path) -> dict[str, pd.DataFrame]:
    """The frames of `STATISTICS` from what was measured (`stored`); the pairs of the ledger `claims` are declared.

    Raises:
        UserError: the scores are not those that the study's settings ask for, or the ledger is wrong.
    """
    study = Stored(stored)
    settings, scores = study.settings, study.frame("scores")
    check_scores(scores, settings.design, StudyFiles(stored).frame("scores"))
    ledger_claims = claims_of(claims, settings)
    comparisons = Comparisons(
        settings.baselines,
        declared_pairs(ledger_claims),
        [(variant, arm.of) for variant, arm in settings.arms.items() if arm.factor is not None],
        settings.margin,
        settings.power,
    )
    averaged = study.averaged
    analysis = analyse(scores, settings.variants, comparisons, averaged)
    shared_scores = study.frame("shared_rate_scores")
    shared = {name: pd.DataFrame(columns=list(STATISTICS[name])) for name in ("runs", "levels", "contrasts")}
    if len(shared_scores):
        base = scores[scores["variant"] == BASE]
        shared = analyse(pd.concat([base, shared_scores]), settings.variants, comparisons, averaged)
    at_shared_rate = {SHARED_RATE + name: frame for name, frame in shared.items()}
    log, tokens, shadow = (study.frame(name) for name in ("log", "tokens", "shadow"))
    of_tokens = token_frames(log, tokens, shadow, settings.variants, settings.baselines[0])
    frames = ledger_frames(study, analysis["runs"], of_tokens["quantities"])
    entries = ledger(ledger_claims, frames, settings.margin, settings.power) if settings.validity else []
    declared = read_manifest(StudyFiles(stored).manifest).get("declared") if settings.validity else None
    if declared and values_hash(claims) not in {file.get("values_sha256") for file in declared["files"].values()}:
        declared = declared | {"changed": claims.name}
    ranked = [variant for variant in settings.variants if variant in {settings.baselines[0], *rules_of(settings)}]
    others = {
        "batches": batch_frame(settings, frames.runs, log, frames.base),
        "validity": validity_frame(study, frames, entries, declared),
        "ranks": rank_frame(frames.runs, ranked),
    }
    if settings.whole.get(LEARNING_CURVE):
        others["learning_curve_means"] = curve_means(study.frame(LEARNING_CURVE))
    return analysis | at_shared_rate | of_tokens | others


def curve_means(answers: pd.DataFrame) -> pd.DataFrame:
    """``LEARNING_CURVE_MEANS`` from ``records.STUDY_LEARNING_CURVE``: correct share of graded answers, over seeds."""
    graded = answers[answers["status"].isin(STATUSES_GRADED)]
    right = graded.assign(value=(graded["status"] == "correct").astype("float64"))
    runs = right.groupby([*CELL, "step"], sort=False)["value"].mean()
    return over_seeds(runs.reset_index(), ["model", "variant", "step"])
