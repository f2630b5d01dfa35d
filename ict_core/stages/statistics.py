"""Runs, levels, contrasts, second views, components and what is said of tokens: every number that is shown."""

from pathlib import Path

from ict_core.evidence.claims import declared_pairs, read_claims
from ict_core.evidence.stored import Stored
from ict_core.evidence.token_statistics import token_frames
from ict_core.seeding import generator
from ict_core.statistics.analysis import analyse
from ict_core.statistics.contrasts import Comparisons
from ict_core.statistics.design import check_scores
from ict_core.statistics.schemas import STATISTICS
from ict_core.store import records
from ict_core.store.layout import StudyFiles


def run(stored: Path, results: Path, claims: Path) -> None:
    """Compute the frames of :data:`ict_core.statistics.schemas.STATISTICS` of what was measured, into `results`.

    Args:
        claims: the ledger, whose pairs are the declared family.
    """
    study = Stored(stored)
    settings, scores = study.settings, study.frame("scores")
    check_scores(scores, settings.design, StudyFiles(stored).frame("scores"))
    comparisons = Comparisons(
        settings.baselines,
        declared_pairs(read_claims(claims)),
        [(variant, arm.of) for variant, arm in settings.arms.items() if arm.factor is not None],
        settings.margin,
        settings.power,
    )
    analysis = analyse(scores, settings.variants, comparisons, generator(0, "second views"), settings.reruns())
    log, tokens, shadow = (study.frame(name) for name in ("log", "tokens", "shadow"))
    of_tokens = token_frames(log, tokens, shadow, settings.variants, settings.shared, settings.baselines[0])
    for name, frame in (vars(analysis) | of_tokens).items():
        records.write_frame(frame, StudyFiles(results).statistics(name), STATISTICS[name])
