"""The subcommand that scores every rule on fresh rollouts of any checkpoint."""

from pathlib import Path
from typing import Annotated

import typer

from ict_core.commands.app import command
from ict_core.commands.stages import prepare
from ict_core.errors import UserError
from ict_core.store.repository import METHODS

_GRADING = {"seconds": 5.0, "memory_mib": 1024}  # what one answer may cost


@command("shadow", portable=True)
def shadow(
    checkpoint: Annotated[Path, typer.Argument(help="a Hugging Face checkpoint folder")],
    problems: Annotated[Path, typer.Option(help="train or eval.parquet of results/STUDY/data")],
    out: Annotated[Path, typer.Option(help="receives tokens, shadow, overlap, gradients.parquet")],
    benchmark: Annotated[str | None, typer.Option(help="draw from this benchmark's problems only")] = None,
    model: Annotated[
        Path | None, typer.Option(help="configs/models/<model>.yaml, whose template the prompts stand in")
    ] = None,
    methods: Annotated[Path, typer.Option(show_default="the repository's configs/methods")] = METHODS,
    count: Annotated[int, typer.Option(help="prompts, drawn at random")] = 16,
    group_size: Annotated[int, typer.Option(help="rollouts a prompt")] = 8,
    temperature: Annotated[float, typer.Option(help="of the rollouts")] = 1.0,
    max_new_tokens: Annotated[int, typer.Option(help="of a rollout")] = 112,
    known_forks: Annotated[
        bool, typer.Option("--known-forks", help="the problems are the mini world's: mark its forks")
    ] = False,
    seed: Annotated[int, typer.Option(help="of prompts, rollouts and draws")] = 0,
    threads: Annotated[int, typer.Option(help="of the CPU")] = 1,
) -> None:
    """Score every rule side by side on fresh rollouts of a checkpoint, without training."""
    prepare()
    from ict_core.config.load import load_methods, load_model
    from ict_core.problems.templates import templated
    from ict_core.selection.rules import distinct_rules
    from ict_core.shadow.checkpoint import score_groups, side_by_side
    from ict_core.shadow.groups import GroupSampling, sample_groups
    from ict_core.store import records
    from ict_core.tools.inspection.tokens import chosen_problems

    for option, value, least in (
        ("--group-size", group_size, 2),
        ("--max-new-tokens", max_new_tokens, 1),
    ):
        if value < least:
            raise UserError(f"{option}: {value} is not allowed; allowed: at least {least}")
    if temperature <= 0:
        raise UserError(f"--temperature: {temperature} is not allowed; allowed: more than 0")
    rules = distinct_rules(load_methods(methods))
    template = load_model(model).prompt if model else None
    asked = chosen_problems(problems, benchmark, count, seed)
    sampling = GroupSampling(group_size, temperature, max_new_tokens, seed, known_forks, threads=threads)
    asked = asked.assign(prompt=templated(template, asked["prompt"]))
    groups = sample_groups(checkpoint, asked, sampling, _GRADING)
    scored = score_groups(groups, rules, seed, temperature)
    for name in ("tokens", "shadow", "overlap", "gradients"):
        records.write_frame(getattr(scored, name), out / f"{name}.parquet", getattr(records, name.upper()))
    right = groups.rewards.nanmean().item()
    print(f"{len(scored.tokens)} tokens of {len(groups.rewards)} rollouts, of which {right:.0%} are right")
    print(side_by_side(scored))
