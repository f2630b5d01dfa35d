"""The subcommand that scores every rule on fresh rollouts of any checkpoint."""

import argparse

from ict_core.commands.stages import prepare
from ict_core.errors import UserError

_GRADING = {"seconds": 5.0, "memory_mib": 1024}  # what one answer may cost


def shadow(options: argparse.Namespace) -> None:
    """Score every rule side by side on fresh rollouts of a checkpoint, without training."""
    prepare()
    from ict_core.config.load import load_methods, load_model
    from ict_core.problems.templates import templated
    from ict_core.selection.rules import distinct_rules
    from ict_core.shadow.checkpoint import score_groups, side_by_side
    from ict_core.shadow.groups import sample_groups
    from ict_core.store import records
    from ict_core.tools.inspection.tokens import chosen_problems

    for option, value, least in (
        ("--group-size", options.group_size, 2),
        ("--max-new-tokens", options.max_new_tokens, 1),
    ):
        if value < least:
            raise UserError(f"{option}: {value} is not allowed; allowed: at least {least}")
    if options.temperature <= 0:
        raise UserError(f"--temperature: {options.temperature} is not allowed; allowed: more than 0")
    rules = distinct_rules(load_methods(options.methods))
    template = load_model(options.model).prompt if options.model else None
    problems = chosen_problems(options.problems, options.benchmark, options.count, options.seed)
    groups = sample_groups(
        options.checkpoint,
        problems.assign(prompt=templated(template, problems["prompt"])),
        group_size=options.group_size,
        temperature=options.temperature,
        max_new_tokens=options.max_new_tokens,
        seed=options.seed,
        grading=_GRADING,
        known_forks=options.known_forks,
        threads=options.threads,
    )
    scored = score_groups(groups, rules, options.seed, options.temperature)
    for name in ("tokens", "shadow", "overlap", "gradients"):
        records.write_frame(getattr(scored, name), options.out / f"{name}.parquet", getattr(records, name.upper()))
    right = groups.rewards.nanmean().item()
    print(f"{len(scored.tokens)} tokens of {len(groups.rewards)} rollouts, of which {right:.0%} are right")
    print(side_by_side(scored))
