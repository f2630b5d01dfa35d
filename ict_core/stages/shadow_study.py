"""Every rule of a study on the tokens that were sampled from all its cells."""

from ict_core.jobs.command import Given, StudyFile, command, study_to_run


@command("shadow-study", writes="shadow")
def run(study: StudyFile, tokens: Given, shadow: Given, overlap: Given) -> None:
    """Score every rule of a study on the tokens sampled from all its cells.

    Rules that read what the sample lacks, the problems' true steps or further scores, are left out and named.
    """
    loaded = study_to_run(study)
    from ict_core.selection.base import distinct_rules
    from ict_core.shadow.score import score_study
    from ict_core.store import records

    sampled = records.read_frame(tokens, records.STUDY_TOKENS)
    all_rules = distinct_rules(loaded.methods)
    rules = [rule for rule in all_rules if rule.sampled]
    kept, agreeing = score_study(sampled, rules, loaded.baselines[0])
    records.write_frame(agreeing, overlap, records.STUDY_OVERLAP)
    records.write_frame(kept, shadow, records.STUDY_SHADOW)
    print(f"{kept['rule'].nunique()} rules on {len(kept.groupby(['model', 'variant', 'seed']))} cells")
    if left_out := [rule.name for rule in all_rules if not rule.sampled]:
        print(f"left out: {', '.join(left_out)}, as a sample of tokens does not hold what they read")
