"""Runs, levels, contrasts, second views, components and what is said of tokens: every number that is shown."""

from pathlib import Path

import pandas as pd

from ict_core.evidence import LedgerFrames, Stored, claims_of, controls_of, declared_pairs, stability, token_frames
from ict_core.seeding import generator
from ict_core.statistics import (
    BASE,
    SHARED_RATE,
    STATISTICS,
    Analysis,
    Comparisons,
    Graded,
    analyse,
    by_base,
    check_scores,
    rank_frame,
)
from ict_core.store import StudyFiles, records


def run(stored: Path, results: Path, claims: Path) -> None:
    """Compute `statistics.STATISTICS` of what was measured; the ledger's pairs are the declared family."""
    study = Stored(stored)
    settings, scores = study.settings, study.frame("scores")
    check_scores(scores, settings.design, StudyFiles(stored).frame("scores"))
    ledger = claims_of(claims, settings)
    comparisons = Comparisons(
        settings.baselines,
        declared_pairs(ledger),
        [(variant, arm.of) for variant, arm in settings.arms.items() if arm.factor is not None],
        settings.margin,
        settings.power,
    )
    reruns, per_base = settings.reruns(), settings.seeds_per_base
    analysis = analyse(scores, settings.variants, comparisons, generator(0, "second views"), reruns, per_base)
    again, shared = study.frame("shared_rate_scores"), Analysis.empty()
    if len(again):
        base = scores[scores["variant"] == BASE]
        draws = generator(0, "second views at the shared rate")
        shared = analyse(pd.concat([base, again]), settings.variants, comparisons, draws, reruns, per_base)
    at_shared_rate = {SHARED_RATE + name: getattr(shared, name) for name in ("runs", "levels", "contrasts")}
    log, tokens, shadow = (study.frame(name) for name in ("log", "tokens", "shadow"))
    of_tokens = token_frames(log, tokens, shadow, settings.variants, settings.shared, settings.baselines[0])
    runs, quantities = (by_base(frame, per_base) for frame in (analysis.runs, of_tokens["quantities"]))
    frames = LedgerFrames(runs, quantities, settings.mirrors, Graded(scores))
    drawn = {"stability": stability(ledger, frames, settings.margin, generator(0, "stability"))}
    ranked = [variant for variant in settings.variants if variant not in controls_of(settings.arms)]
    drawn["ranks"] = rank_frame(runs, ranked)
    for name, frame in (vars(analysis) | at_shared_rate | of_tokens | drawn).items():
        records.write_frame(frame, StudyFiles(results).statistics(name), STATISTICS[name])
