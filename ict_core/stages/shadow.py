"""Every rule of a study on the tokens that were sampled from all its cells."""

from pathlib import Path

from ict_core.config import Study
from ict_core.selection import distinct_rules
from ict_core.shadow import score_study
from ict_core.store import records


def run(study: Study, tokens: Path, shadow: Path, overlap: Path) -> None:
    """Score every rule on ``records.STUDY_TOKENS`` into ``records.STUDY_SHADOW`` and ``records.STUDY_OVERLAP``.

    But those that read the problems' true steps, which the sample does not hold; they are named.
    """
    sampled = records.read_frame(tokens, records.STUDY_TOKENS)
    every = distinct_rules(study.methods)
    rules = [rule for rule in every if not rule.traits.known_steps]
    kept, agreeing = score_study(sampled, rules, study.baselines[0])
    records.write_frame(agreeing, overlap, records.STUDY_OVERLAP)
    records.write_frame(kept, shadow, records.STUDY_SHADOW)
    print(f"{kept['rule'].nunique()} rules on {len(kept.groupby(['model', 'variant', 'seed']))} cells")
    if left_out := [rule.name for rule in every if rule.traits.known_steps]:
        print(f"left out: {', '.join(left_out)}, as a sample of tokens does not hold the steps of its problems")
