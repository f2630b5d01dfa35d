"""Runs, levels, contrasts, components and what is said of tokens: every number that is shown."""

from pathlib import Path

import pandas as pd

from ict_core.evidence import (
    Stored,
    batch_frame,
    claims_of,
    controls_of,
    declared_pairs,
    ledger,
    ledger_frames,
    stability,
    token_frames,
    validity_frame,
)
from ict_core.seeding import generator
from ict_core.statistics import (
    BASE,
    SHARED_RATE,
    STATISTICS,
    Analysis,
    Comparisons,
    analyse,
    check_scores,
    rank_frame,
)
from ict_core.store import StudyFiles, read_manifest, records


def run(stored: Path, results: Path, claims: Path) -> None:
    """Compute `statistics.STATISTICS` of what was measured; the ledger's pairs are the declared family."""
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
    reruns, per_base = settings.reruns(), settings.seeds_per_base
    averaged = study.averaged
    analysis = analyse(scores, settings.variants, comparisons, reruns, per_base, averaged)
    again, shared = study.frame("shared_rate_scores"), Analysis.empty()
    if len(again):
        base = scores[scores["variant"] == BASE]
        both = pd.concat([base, again])
        shared = analyse(both, settings.variants, comparisons, reruns, per_base, averaged)
    at_shared_rate = {SHARED_RATE + name: getattr(shared, name) for name in ("runs", "levels", "contrasts")}
    log, tokens, shadow = (study.frame(name) for name in ("log", "tokens", "shadow"))
    of_tokens = token_frames(log, tokens, shadow, settings.variants, settings.shared, settings.baselines[0])
    frames = ledger_frames(study, analysis.runs, of_tokens["quantities"], scores)
    drawn = {"stability": stability(ledger_claims, frames, settings.margin, generator(0, "stability"))}
    entries = ledger(ledger_claims, frames, settings.margin, settings.power) if settings.validity else []
    declared = read_manifest(StudyFiles(stored).manifest).get("declared") if settings.validity else None
    drawn["batches"] = batch_frame(settings, frames.runs, log)
    drawn["validity"] = validity_frame(study, frames.runs, entries, declared)
    ranked = [variant for variant in settings.variants if variant not in controls_of(settings.arms)]
    drawn["ranks"] = rank_frame(frames.runs, ranked)
    for name, frame in (vars(analysis) | at_shared_rate | of_tokens | drawn).items():
        records.write_frame(frame, StudyFiles(results).statistics(name), STATISTICS[name])
